import type { Command } from 'commander'
import { probeBucket } from '../../archive/index.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { formatWrapped, paint, writeJson, writeOut } from '../../terminal/output.js'
import { addBucket, type BucketFlags, isBucket, toBucketAccess } from '../bucket-flags.js'
import { type Examination, examine } from '../doctor/examine.js'
import type { Finding, Verdict } from '../doctor/finding.js'
import { withProgress } from '../with-progress.js'

export function register(command: Command): void {
  command
    .description(
      'Check the disk of DIR and the limits of the process. Each line is OK, WARN or FAIL, with a remedy. Writes a little to a temporary folder in DIR and removes it; a log in DIR may be in use. For s3://bucket/prefix, check whether the store is safe for an archive, with a few objects that are removed afterwards. The exit status is 0 if all checks are OK, 1 for a WARN, 2 for a FAIL.',
    )
    .argument(
      '[dir]',
      'the folder of the log (if it does not exist, its nearest existing parent), or s3://bucket/prefix',
      '.',
    )
  addJson(addBucket(command)).action(run)
}

async function run(dir: string, flags: BucketFlags & { json?: boolean }): Promise<void> {
  const { json } = flags
  const examination = await withProgress<Pick<Examination, 'findings'>>(
    { label: 'doctor', silent: json === true },
    () => (isBucket(dir) ? examineBucket(dir, flags) : examine(dir)),
  )
  process.exitCode = exitCodeOf(examination.findings)
  await (json ? writeJson(examination) : writeOut(describe(examination)))
}

async function examineBucket(bucket: string, flags: BucketFlags): Promise<{ findings: Finding[] }> {
  const findings = await probeBucket(toBucketAccess(bucket, flags))
  return { findings: findings.map(({ check, ok, found }) => toFinding(check, ok, found)) }
}

function toFinding(check: string, isOk: boolean, found: string): Finding {
  if (isOk) return { check, verdict: 'OK', found: 'true for this store', advice: '' }
  return { check, verdict: 'FAIL', found, advice: 'use another store, or a newer version of it' }
}

export function exitCodeOf(findings: readonly Finding[]): number {
  const has = (wanted: Verdict): boolean => findings.some(({ verdict }) => verdict === wanted)
  if (has('FAIL')) return ExitCode.unfit
  return has('WARN') ? ExitCode.doubtful : ExitCode.ok
}

const COLOURS = { OK: 'green', WARN: 'yellow', FAIL: 'red', 'not checked here': 'grey' } as const

/** Formats one line for each check, which is wrapped to the width of a terminal. */
function describe({ findings }: Pick<Examination, 'findings'>): string {
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
