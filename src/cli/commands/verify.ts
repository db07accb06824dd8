import type { Command } from 'commander'
import { type VerifyReport, verify } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import {
  formatBytes,
  formatCount,
  formatFields,
  formatSeqs,
  formatWrapped,
  writeJson,
  writeOut,
} from '../../terminal/output.js'
import { withProgress } from '../with-progress.js'

export function register(command: Command): void {
  command
    .description(
      'Read every record and report damage. Changes nothing and takes no lock. The exit status is 0 if the log is whole; 1 for a torn tail or a hole, which hold no record that was acknowledged at sync; 2 if synced records are damaged. Losses that were accepted (repair --salvage --apply) are listed and do not count.',
    )
    .argument('<dir>', 'the folder of the log')
  addJson(command).action(run)
}

async function run(dir: string, { json }: { json?: boolean }): Promise<void> {
  const interrupted = (): string => 'nothing was changed, and the log was not fully checked'
  const report = await withProgress({ label: 'verify', silent: json === true, interrupted }, () => verify(dir))
  process.exitCode = exitCodeOfState(report.state)
  await (json ? writeJson({ ...report, advice: adviceOn(dir, report) }) : writeOut(describe(dir, report)))
}

export function exitCodeOfState(state: VerifyReport['state']): number {
  if (state === 'clean') return ExitCode.ok
  return state === 'corrupt' ? ExitCode.corrupt : ExitCode.torn
}

function describe(dir: string, report: VerifyReport): string {
  const { state, uuid, firstSeq, nextSeq, syncedSeq, records, payloadBytes, segments, problems, accepted } = report
  const fields = formatFields([
    ['state', state],
    ['uuid', uuid],
    [
      'records',
      records === 0
        ? 'none'
        : `${formatCount(records)}, ${formatSeqs(firstSeq, nextSeq)}, ${formatBytes(payloadBytes)}`,
    ],
    ['synced up to', syncedSeq === -1 ? 'none known' : syncedSeq],
    ['segments', segments.length],
  ])
  const advice = adviceOn(dir, report)
  const known = accepted.map((problem) => describeProblem(problem).replace(/\n$/, '; accepted\n'))
  return (
    fields +
    [...known, ...problems.map(describeProblem)].join('') +
    (advice === '' ? '' : formatWrapped('next: ', advice))
  )
}

/** Returns what an operator should do about the state; '' if nothing. */
function adviceOn(dir: string, { state, problems }: VerifyReport): string {
  if (state === 'clean') return ''
  if (state !== 'corrupt')
    return `no record that was acknowledged at sync is damaged; the next open for writing removes the damaged end, or "durlog repair ${dir} --apply" after a copy of it`
  const lost = problems.some(({ lostFirst, lostLast }) => lostFirst <= lostLast)
  return [
    'look at the system log (dmesg) for errors of the disk, and copy the folder',
    `"durlog cat ${dir} --salvage" prints the intact records`,
    lost
      ? `"durlog repair ${dir} --from BACKUP" finds the lost records in a backup or an archive`
      : '"durlog restore NEW BACKUP" restores a backup',
    `${lost ? 'to accept the loss' : 'to continue'}, "durlog repair ${dir} --salvage --apply" makes the log accept appends again`,
  ].join('; ')
}

export function describeProblem({
  segment,
  offset,
  lostFirst,
  lostLast,
  message,
}: VerifyReport['problems'][0]): string {
  const lost =
    lostFirst > lostLast
      ? ''
      : lostFirst === lostLast
        ? `; record ${lostFirst} is lost`
        : `; records ${lostFirst} to ${lostLast} are lost`
  return `${segment}, byte ${offset}: ${message}${lost}\n`
}
