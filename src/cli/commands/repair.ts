import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ACCEPTED_LOSSES } from '../../accepted-losses.js'
import { type RepairReport, repair, type VerifyReport, verify } from '../../index.js'
import { openOrdered } from '../../open.js'
import { replaceSynced } from '../../support/durable-files.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatBytes, formatSeqs, writeJson, writeOut } from '../../terminal/output.js'
import { addBucket, type BucketFlags } from '../bucket-flags.js'
import { checkSource, repairFrom } from '../repair-from.js'
import { withProgress } from '../with-progress.js'
import { describeProblem, exitCodeOfState } from './verify.js'

interface Flags extends BucketFlags {
  apply?: boolean
  from?: string
  backup?: string
  salvage?: boolean
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Report the bytes that must be removed to make the log whole: a torn tail or a hole, which hold no record that was acknowledged at sync. With --apply, copy them to a backup and remove them. With --from, fetch lost records from a backup or an archive of the log. Without --apply the exit status is that of verify.',
    )
    .argument('<dir>', 'the folder of the log')
    .option('--apply', 'make the changes')
    .option('--backup <dir>', 'the folder for the copy (default: <dir>-backup-<time>)')
    .option(
      '--from <source>',
      'for a corrupt log: put the lost records back from a backup, a folder, or from an archive, s3://bucket/prefix',
    )
    .option(
      '--salvage',
      'for a corrupt log: give up the damaged records, so that the log accepts appends again; all other records keep their seqs, and the damaged bytes stay in place. From then on verify lists the losses as accepted and exits with 0',
    )
  addBucket(addJson(command)).action(run)
}

async function run(dir: string, flags: Flags): Promise<void> {
  const { apply, backup, from, salvage } = flags
  if (backup !== undefined && !apply) throw new InputError('--backup needs --apply', ExitCode.usage)
  if (from !== undefined && salvage)
    throw new InputError(
      '--salvage gives up records that --from restores: use --from first, and --salvage for the rest',
      ExitCode.usage,
    )
  await withProgress({ label: 'repair', silent: flags.json === true }, () => work(dir, flags))
}

async function work(dir: string, flags: Flags): Promise<void> {
  const { apply, backup, from, salvage, json } = flags
  if (from !== undefined) return fetchLost(dir, from, flags)
  if (salvage) {
    const report = await verify(dir)
    if (report.state === 'corrupt') return salvageLog(dir, report, apply === true, json === true)
  }
  const report = await repair(dir, apply ? { apply, backup: backup ?? defaultBackup(dir) } : {})
  if (!apply || report.state === 'corrupt') process.exitCode = exitCodeOfState(report.state)
  await (json ? writeJson(report) : writeOut(describe(report)))
}

/**
 * Opens the log with `salvage`, which begins a new segment after all records that may be damaged. Later opens without
 * `salvage` read only from that segment on, and so accept the log.
 */
async function salvageLog(dir: string, report: VerifyReport, apply: boolean, json: boolean): Promise<void> {
  const { state, segments, problems } = report
  let { nextSeq } = report
  if (apply) {
    const newest = segments.at(-1)?.name as string
    const segmentBytes = statSync(join(dir, newest)).size
    const log = await openOrdered(dir, { create: false, recovery: 'salvage', segmentBytes })
    nextSeq = log.nextSeq
    await log.close()
    const after = await verify(dir)
    await acceptLosses(dir, [...after.accepted, ...after.problems])
  } else {
    process.exitCode = exitCodeOfState(state)
  }
  if (json) return writeJson({ state, applied: apply, nextSeq, problems })
  const end = apply
    ? `the log accepts appends again, from seq ${nextSeq} on; the damaged bytes stay unchanged, and verify lists these losses as accepted\n`
    : 'nothing was changed; use --apply to give up these records\n'
  await writeOut(`${state}\n${problems.map(describeProblem).join('')}${end}`)
}

/** Records that `problems`, and no others, are accepted. */
async function acceptLosses(dir: string, problems: VerifyReport['problems']): Promise<void> {
  const text = problems.map((problem) => `${JSON.stringify(problem)}\n`).join('')
  await replaceSynced(join(dir, ACCEPTED_LOSSES), text)
}

/** Puts lost records back. */
async function fetchLost(dir: string, from: string, flags: Flags): Promise<void> {
  const { apply, backup = defaultBackup(dir), json } = flags
  await checkSource(dir, from)
  const segments = await repairFrom(dir, from, flags, apply ? backup : undefined)
  const { state, accepted } = await verify(dir)
  // Later damage at the place of a record that was put back is not accepted.
  if (apply && existsSync(join(dir, ACCEPTED_LOSSES))) await acceptLosses(dir, accepted)
  process.exitCode = exitCodeOfState(state)
  if (json) return writeJson({ state, applied: apply === true, segments, backup: apply ? backup : '' })
  const lines = segments.map(({ segment, lost, found }) => {
    const seqs = lost.map(({ first, last }) => formatSeqs(first, last + 1)).join(', ')
    const what = seqs === '' ? 'no record is lost' : seqs
    return `${segment}: ${what}: ${found ? (apply ? 'restored' : `found in ${from}`) : `not all are in ${from}`}\n`
  })
  const isChanged = apply && segments.some(({ found }) => found)
  const end = isChanged
    ? `the log is ${state}; the damaged files are in ${backup}\n`
    : `${state}: nothing was changed${segments.length > 0 && !apply ? '; use --apply to restore the records that are found' : ''}\n`
  await writeOut(lines.join('') + end)
}

function defaultBackup(dir: string): string {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')
  return `${dir.replace(/[\\/]+$/, '')}-backup-${time}`
}

function describe({ state, applied, cuts, backup }: RepairReport): string {
  if (cuts.length === 0) {
    if (state !== 'corrupt') return `${state}: nothing to remove\n`
    return 'corrupt: synced records are damaged, which no cut can repair; "durlog verify DIR" lists them.\n--salvage --apply gives them up and makes the log accept appends again\n'
  }
  const verb = applied ? 'removed' : 'would remove'
  const lines = cuts.map(({ segment, offset, bytes, removed }) => {
    const part = removed ? 'the whole file' : `from byte ${offset} to the end`
    return `${verb} of ${segment}: ${part}, ${formatBytes(bytes)}\n`
  })
  const end = applied ? `a copy is in ${backup}\n` : 'nothing was changed; --apply removes these bytes after a backup\n'
  return `${state}\n${lines.join('')}${end}`
}
