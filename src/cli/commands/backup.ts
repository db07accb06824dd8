import type { Command } from 'commander'
import { addJson } from '../../terminal/arguments.js'
import { reportOnInterrupt } from '../../terminal/interrupt.js'
import { formatCount, formatCounted, formatSeqs, warn, writeJson, writeOut } from '../../terminal/output.js'
import { startProgress } from '../../terminal/progress.js'
import { type CopyReport, copyLog } from '../backup.js'
import { gapReporter } from '../print.js'
import { refuseStreams } from '../streams/folder.js'

const NO_BACKUP_OF_STREAMS =
  'their log lacks the records that checkpoints removed; use "durlog archive", a snapshot of the file system, or a copy of the whole folder while no process has it open'

export function register(command: Command): void {
  command
    .description(
      'Copy every synced record of a log and its cursors to DEST, and verify the copy. The log may be in use. The copy has the same seqs, times, bytes and UUID. If DEST holds an earlier backup of the log, only newer records are copied. "durlog restore DIR DEST" restores it.',
    )
    .argument('<dir>', 'the folder of the log')
    .argument('<dest>', 'a new or empty folder, or an earlier backup of this log')
    .option('--salvage', 'skip damaged records, report them on stderr and exit with 2; all others keep their seqs')
  addJson(command).action(async (dir: string, dest: string, flags: CopyFlags) => {
    refuseStreams(dir, NO_BACKUP_OF_STREAMS)
    await runCopy('backup', dir, dest, flags)
  })
}

interface CopyFlags {
  salvage?: boolean
  json?: boolean
}

/** Copies a log and prints a report. `label` is the name of the command. */
export async function runCopy(label: string, from: string, to: string, flags: CopyFlags): Promise<void> {
  const json = flags.json === true
  const progress = startProgress(label, 0, json)
  let copied = 0
  const stop = reportOnInterrupt(() => `copied ${formatCounted(copied, 'record')}; run it again to continue`)
  const onProgress = (done: number, total: number): void => {
    copied = done
    progress.update(done, total)
  }
  let report: CopyReport
  try {
    report = await copyLog(from, to, onProgress, { salvage: flags.salvage === true, onGap: gapReporter(json) })
  } finally {
    stop()
    progress.stop()
  }
  for (const name of report.skippedCursors)
    warn('CURSOR_SKIPPED', `the cursor ${name} has no valid position and was not copied`, json)
  if (json) return writeJson(report)
  const { firstSeq, nextSeq, cursors } = report
  await writeOut(
    `${to} holds ${formatSeqs(firstSeq, nextSeq)} and ${formatCounted(cursors.length, 'cursor')}, verified; ${formatCount(report.copied)} new\n`,
  )
}
