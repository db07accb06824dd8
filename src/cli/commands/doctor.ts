import type { Command } from 'commander'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { formatWrapped, useColour, writeJson, writeOut } from '../../terminal/output.js'
import { startProgress } from '../../terminal/progress.js'
import { type Examination, examine } from '../doctor/examine.js'
import type { Finding, Verdict } from '../doctor/finding.js'

export function register(program: Command): void {
  const command = program
    .command('doctor')
    .summary('check whether a disk is safe and fit for a log')
    .description(
      'Check the disk of DIR and the limits of the process. Each line is OK, WARN or FAIL, with a remedy. Writes a little to a temporary folder in DIR and removes it; a log in DIR may be in use. The exit status is 0 if all checks are OK, 1 for a WARN, 2 for a FAIL.',
    )
    .argument('[dir]', 'the folder of the log; if it does not exist, its nearest existing parent is checked', '.')
  addJson(command).action(run)
}

async function run(dir: string, { json }: { json?: boolean }): Promise<void> {
  const progress = startProgress('doctor', 0, json === true)
  const examination = await examine(dir).finally(() => progress.stop())
  process.exitCode = exitCodeOf(examination.findings)
  await (json ? writeJson(examination) : writeOut(describe(examination)))
}

export function exitCodeOf(findings: readonly Finding[]): number {
  const has = (wanted: Verdict): boolean => findings.some(({ verdict }) => verdict === wanted)
  if (has('FAIL')) return ExitCode.unfit
  return has('WARN') ? ExitCode.doubtful : ExitCode.ok
}

const COLOURS: Record<Verdict, number> = { OK: 32, WARN: 33, FAIL: 31, 'not checked here': 90 }

/** One line for each check; on a terminal, wrapped to its width. */
function describe({ findings }: Examination): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(({ check, verdict, found, advice }) => {
    const label = verdict === 'not checked here' ? '-' : verdict
    const text = verdict === 'not checked here' ? `not checked here: ${found}` : found
    const head = `${paint(label.padEnd(4), COLOURS[verdict])}  ${check.padEnd(width)}  `
    return formatWrapped(head, advice === '' ? text : `${text}. To do: ${advice}`)
  })
  return lines.join('') + summary(findings)
}

function summary(findings: readonly Finding[]): string {
  const count = (wanted: Verdict): number => findings.filter(({ verdict }) => verdict === wanted).length
  const parts = (['OK', 'WARN', 'FAIL', 'not checked here'] as const).map((verdict) => `${count(verdict)} ${verdict}`)
  return `${parts.filter((part) => !part.startsWith('0')).join(', ')}\n`
}

function paint(text: string, colour: number): string {
  return useColour() ? `\x1b[${colour}m${text}\x1b[39m` : text
}
