import type { Command } from 'commander'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { type InterruptedError, onInterrupt } from '../../terminal/interrupt.js'
import {
  formatBytes,
  formatCount,
  formatCounted,
  formatSeqs,
  warn,
  writeJson,
  writeOut,
} from '../../terminal/output.js'
import { copyLog, restoreLog } from '../backup.js'
import { gapReporter } from '../print.js'
import { backupStreams, restoreStreams } from '../streams/backup.js'
import { logFolder, refuseStreams } from '../streams/folder.js'
import { withProgress } from '../with-progress.js'

export function register(command: Command): void {
  command
    .description(
      'Copy every synced record of a log and its cursors to DEST, and verify the copy. The log may be in use. The copy has the same seqs, times, bytes and UUID. If DEST holds an earlier backup of the log, only newer records are copied. A folder of streams is copied whole, and replaces an earlier backup once it is complete. "durlog restore DIR DEST" restores a backup.',
    )
    .argument('<dir>', 'the folder of the log, or of streams')
    .argument('<dest>', 'a new or empty folder, or an earlier backup of DIR')
    .option('--salvage', 'skip damaged records, report them on stderr and exit with 2; all others keep their seqs')
  addJson(command).action(async (dir: string, dest: string, flags: CopyFlags) => {
    await runCopy('backup', dir, dest, flags)
  })
}

interface CopyFlags {
  salvage?: boolean
  json?: boolean
}

/** Copies a log, or a folder of streams, and prints a report. */
export async function runCopy(label: 'backup' | 'restore', from: string, to: string, flags: CopyFlags): Promise<void> {
  if (logFolder(from).hasStreams) return runStreamsCopy(label, from, to, flags)
  refuseStreams(from, 'name their folder, because its log is not complete without the other files')
  const json = flags.json === true
  let copied = 0
  const interrupted = (): string => `copied ${formatCounted(copied, 'record')}; run it again to continue`
  const salvage = { salvage: flags.salvage === true, onGap: gapReporter(json) }
  const report = await withProgress({ label, silent: json, interrupted }, (progress) => {
    const onProgress = (done: number, total: number): void => {
      copied = done
      progress.update(done, total)
    }
    return label === 'restore'
      ? restoreLog(from, to, onProgress, salvage)
      : copyLog(from, to, onProgress, { ...salvage, isBackup: true })
  })
  for (const name of report.skippedCursors)
    warn('CURSOR_SKIPPED', `the cursor ${name} has no valid position and was not copied`, json)
  if (json) return writeJson(report)
  const { firstSeq, nextSeq, cursors } = report
  await writeOut(
    `${to} holds ${formatSeqs(firstSeq, nextSeq)} and ${formatCounted(cursors.length, 'cursor')}, verified; ${formatCount(report.copied)} new\n`,
  )
}

async function runStreamsCopy(
  label: 'backup' | 'restore',
  from: string,
  to: string,
  { salvage, json = false }: CopyFlags,
): Promise<void> {
  if (salvage) throw new InputError('--salvage does not apply to streams', ExitCode.usage)
  let interrupted: InterruptedError | undefined
  const stop = onInterrupt((error) => {
    interrupted = error
  })
  const copy = label === 'restore' ? restoreStreams : backupStreams
  const report = await withProgress({ label, silent: json }, (progress) =>
    copy(from, to, (done, total) => {
      if (interrupted !== undefined) throw interrupted
      progress.update(done, total)
    }),
  ).finally(stop)
  for (const name of report.changed)
    warn('STREAM_CHANGED', `another program has changed the file of the stream ${name}: records are missing`, json)
  if (report.changed.length > 0) process.exitCode = ExitCode.corrupt
  if (json) return writeJson(report)
  const { streams, files, fileBytes } = report
  await writeOut(
    `${to} holds ${formatCounted(streams, 'stream')}: ${formatCounted(files, 'file')} with ${formatBytes(fileBytes)}, verified, and the records after the last checkpoint\n`,
  )
}
