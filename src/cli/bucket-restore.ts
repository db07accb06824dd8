/** The command `durlog restore DIR s3://…`. */
import { type ArchiveChoice, listArchive, restoreArchive } from '../archive/index.js'
import {
  formatBytes,
  formatCounted,
  formatFields,
  formatSeqs,
  formatTable,
  formatTime,
  writeJson,
  writeOut,
  writeSummary,
} from '../terminal/output.js'
import { startProgress } from '../terminal/progress.js'
import { type BucketFlags, toBucketAccess } from './bucket-flags.js'
import { reporter, retryReporter } from './replicate.js'

export interface BucketRestoreFlags extends BucketFlags {
  to?: number
  until?: number
  follow?: boolean
  list?: boolean
  uuid?: string
  generation?: number
  retryFor?: number
  json?: boolean
}

export async function runBucketRestore(
  dir: string,
  bucket: string,
  flags: BucketRestoreFlags,
  signal: AbortSignal,
): Promise<void> {
  const { to, until, follow, uuid, generation, retryFor, json } = flags
  const choice = { ...toBucketAccess(bucket, flags), uuid, generation }
  if (flags.list) return list(choice, json === true)
  const progress = startProgress('restore', 0, json === true)
  const onProgress = (read: number, total: number): void => progress.update(read, follow ? 0 : total)
  try {
    const events = { onProgress, onRetry: retryReporter(reporter(json === true)) }
    const report = await restoreArchive(dir, { ...choice, ...events, to, until, follow, retryForMs: retryFor, signal })
    if (json) return await writeSummary(`${JSON.stringify(report)}\n`)
    const { firstSeq, nextSeq } = report
    await writeSummary(`restored ${formatCounted(nextSeq - firstSeq, 'record')}: ${formatSeqs(firstSeq, nextSeq)}\n`)
  } finally {
    progress.stop()
  }
}

/** Prints the histories of the archive, and the objects at which a restore can end. */
async function list(choice: ArchiveChoice, json: boolean): Promise<void> {
  const summary = await listArchive(choice)
  if (json) return writeJson(summary)
  const { uuid, histories, points } = summary
  const rows = points.map(({ firstSeq, lastSeq, bytes, oldestMs, newestMs }) => [
    formatSeqs(firstSeq, lastSeq + 1),
    formatTime(oldestMs),
    formatTime(newestMs),
    formatBytes(bytes),
  ])
  const fields = histories.map(({ generation, firstSeq, nextSeq, from }, at): [string, string] => [
    `generation ${generation}`,
    `${formatSeqs(firstSeq, nextSeq)}${at === 0 ? '' : `, its own from seq ${from}`}`,
  ])
  await writeOut(`${formatFields([['log', uuid], ...fields])}\n${formatTable(['records', 'from', 'to', 'size'], rows)}`)
}
