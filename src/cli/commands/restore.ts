import { existsSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { type ArchiveChoice, listArchive, type RestoreArchiveOptions, restoreArchive } from '../../archive/index.js'
import { restore } from '../../jetstream/index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
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
} from '../../terminal/output.js'
import { addRetryFor, toBytes, toTimeMs } from '../arguments.js'
import { addBucket, type BucketFlags, isBucket, toBucketAccess } from '../bucket-flags.js'
import { addNats, type NatsFlags, toAccess } from '../nats-flags.js'
import { endingSignal, reporter, retryReporter } from '../replicate.js'
import { withProgress } from '../with-progress.js'
import { runCopy } from './backup.js'

interface Flags extends NatsFlags, BucketRestoreFlags {
  from?: number
  segmentBytes?: number
}

/** The headings of the options in --help. `SOURCES` has those whose options a source accepts. */
const FOR_BOTH = 'Options for a bucket or a server:'
const FOR_BUCKETS = 'Options for a bucket:'
const FOR_SERVERS = 'Options for a server:'
const SOURCES = {
  'a backup, which is copied whole': [],
  'a bucket': [FOR_BOTH, FOR_BUCKETS],
  'a server': [FOR_BOTH, FOR_SERVERS],
} as const

export function register(command: Command): void {
  command
    .description(
      'Restore a log into DIR, a new or empty folder, with the same seqs, times, bytes and UUID. SOURCE is the folder of a backup ("durlog backup"), the bucket of an archive ("durlog archive"), or a server with the stream to which the log was shipped ("durlog ship"). If it was interrupted, run it again to continue. A server needs --stream, and the packages @nats-io/jetstream and @nats-io/transport-node; a bucket needs aws4.',
    )
    .argument('<dir>', 'the folder of the log')
    .argument(
      '[source]',
      'a folder, s3://bucket/prefix, or nats://host:port (default: NATS_URL, or nats://127.0.0.1:4222)',
    )
  addJson(command)
    .optionsGroup(FOR_BOTH)
    .option('--to <seq>', 'end before this record (default: restore all)', parseWhole)
    .option('--until <time>', 'end before this time: ISO 8601, or how long ago (90s, 15m, 2h, 7d)', toTimeMs)
    .option('--follow', 'keep the restored log up to date for readers, until SIGINT or SIGTERM')
  addRetryFor(command, '5m; with --follow never, after it has caught up once')
    .optionsGroup(FOR_BUCKETS)
    .option('--list', 'only list the contents of the bucket')
    .option('--uuid <uuid>', 'the UUID of the log, if the bucket holds several')
    .option('--generation <number>', 'the history of a log that was truncated (default: the newest)', parseWhole)
  addBucket(command)
    .optionsGroup(FOR_SERVERS)
    .option('--from <seq>', 'the first record (default: the oldest)', parseWhole)
    .option('--segment-bytes <size>', 'size of segment files', toBytes)
  addNats(command).action(run)
}

function refuseOthers(source: keyof typeof SOURCES, command: Command): void {
  const groups: readonly string[] = SOURCES[source]
  const wrong = command.options.find(
    (option) =>
      option.helpGroupHeading !== undefined &&
      !groups.includes(option.helpGroupHeading) &&
      command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (wrong !== undefined) throw new InputError(`${wrong.long} does not apply to ${source}`, ExitCode.usage)
}

async function run(dir: string, url: string | undefined, flags: Flags, command: Command): Promise<void> {
  if (url !== undefined && statSync(url, { throwIfNoEntry: false })?.isDirectory()) {
    refuseOthers('a backup, which is copied whole', command)
    return runCopy('restore', url, dir, { json: flags.json === true })
  }
  const ending = endingSignal()
  if (isBucket(url)) {
    refuseOthers('a bucket', command)
    return runBucketRestore(dir, url, flags, ending)
  }
  refuseOthers('a server', command)
  const { stream, subject, from, to, until, follow, segmentBytes, json } = flags
  if (stream === undefined)
    throw new InputError(
      `${url === undefined || url.includes('://') ? '' : existsSync(url) ? `${url} is a file; ` : `there is no folder ${url}; `}to restore a backup, name its folder; to restore from a server, name its stream with --stream`,
      ExitCode.usage,
    )
  const options = {
    ...toAccess(url, flags),
    stream,
    subject,
    from,
    to,
    until,
    follow,
    segmentBytes,
    retryForMs: flags.retryFor,
    ...followReports(dir, json === true),
    signal: ending,
  }
  const report = await withProgress({ label: 'restore', silent: json === true }, (progress) =>
    restore(dir, {
      ...options,
      onProgress: (restored, total) => progress.update(restored, Number.isFinite(total) ? total : 0),
    }),
  )
  if (json) return writeSummary(`${JSON.stringify(report)}\n`)
  const { records, firstSeq, nextSeq } = report
  await writeSummary(`restored ${formatCounted(records, 'record')}; the log holds ${formatSeqs(firstSeq, nextSeq)}\n`)
}

interface BucketRestoreFlags extends BucketFlags {
  to?: number
  until?: number
  follow?: boolean
  list?: boolean
  uuid?: string
  generation?: number
  retryFor?: number
  json?: boolean
}

async function runBucketRestore(
  dir: string,
  bucket: string,
  flags: BucketRestoreFlags,
  signal: AbortSignal,
): Promise<void> {
  const { to, until, follow, uuid, generation, retryFor, json } = flags
  const choice = { ...toBucketAccess(bucket, flags), uuid, generation }
  if (flags.list) return list(choice, json === true)
  const options = { ...choice, ...followReports(dir, json === true), to, until, follow, retryForMs: retryFor, signal }
  const report = await withProgress({ label: 'restore', silent: json === true }, (progress) =>
    restoreArchive(dir, { ...options, onProgress: (read, total) => progress.update(read, follow ? 0 : total) }),
  )
  if (json) return writeSummary(`${JSON.stringify(report)}\n`)
  const { firstSeq, nextSeq } = report
  await writeSummary(`restored ${formatCounted(nextSeq - firstSeq, 'record')}: ${formatSeqs(firstSeq, nextSeq)}\n`)
}

/** Reports failed attempts, and once that a restore with --follow has all records. */
function followReports(dir: string, json: boolean): Required<Pick<RestoreArchiveOptions, 'onCaughtUp' | 'onRetry'>> {
  const report = reporter(json)
  let isReported = false
  return {
    onCaughtUp: (nextSeq) => {
      if (!isReported) report('caught-up', { nextSeq }, `${dir} has all records, up to seq ${nextSeq - 1}; following`)
      isReported = true
    },
    onRetry: retryReporter(report),
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
