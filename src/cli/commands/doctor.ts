import type { Command } from 'commander'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { formatWrapped, useColour, writeJson, writeOut } from '../../terminal/output.js'
import { type Examination, examine } from '../doctor/examine.js'
import type { Finding, Verdict } from '../doctor/finding.js'

export function register(program: Command): void {
  const command = program
    .command('doctor')
    .summary('tell whether a disk is honest and fit for a log')
    .description(
      'Check the disk that DIR is on, or would be, and what the process may use: each line OK, WARN or FAIL, with what to do. Writes a little in a folder of its own in DIR and removes it; a log there may be open. Ends with 0 if everything is OK, 1 with a WARN, 2 with a FAIL.',
    )
    .argument('[dir]', "the log's folder; the nearest folder above it if it does not exist", '.')
  addJson(command).action(run)
}

async function run(dir: string, { json }: { json?: boolean }): Promise<void> {
  const examination = await examine(dir)
  process.exitCode = exitCodeOf(examination.findings)
  await (json ? writeJson(examination) : writeOut(describe(examination)))
}

export function exitCodeOf(findings: readonly Finding[]): number {
  const has = (wanted: Verdict): boolean => findings.some(({ verdict }) => verdict === wanted)
  if (has('FAIL')) return ExitCode.unfit
  return has('WARN') ? ExitCode.doubtful : ExitCode.ok
}

const COLOURS: Record<Verdict, number> = { OK: 32, WARN: 33, FAIL: 31, 'not checked here': 90 }

/** One line for each check where nobody watches; on a terminal, lines of its width. */
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
