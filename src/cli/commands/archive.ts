import type { Command } from 'commander'
import { archive, mainLogOf } from '../../archive/index.js'
import { open } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { addRetryFor, toAgeMs, toBytes, toWaitMs } from '../arguments.js'
import { addBucket, type BucketFlags, isBucket, toBucketAccess } from '../bucket-flags.js'
import { type CopierStats, endingSignal, type ReplicationWords, reporter, showStatus, watch } from '../replicate.js'

interface Flags extends BucketFlags {
  once?: boolean
  status?: boolean
  cursor: string
  flush?: number
  flushBytes?: number
  compress?: boolean
  history?: number
  retryFor?: number
  json?: boolean
}

const WORDS: ReplicationWords = { command: 'archive', done: 'archived', agent: 'archiver' }

export function register(command: Command): void {
  command
    .description(
      'Copy every synced record of a log, or of a folder of streams, to s3://bucket/prefix until SIGINT or SIGTERM. Other processes may write the log meanwhile. "durlog restore DIR s3://bucket/prefix" restores it. Needs the package aws4.',
    )
    .argument('<dir>', 'the folder of the log, or of streams')
    .argument('[bucket]', 's3://bucket/prefix')
    .option('--once', 'end when all records that are synced now are archived')
    .option(
      '--status',
      'only print the position, the health and the last error of the archiver without contacting the store',
    )
    .option('--cursor <name>', 'the cursor of the log for this archive', 'archive')
    .option('--flush <duration>', 'the longest time between two uploads (default: 10s)', toWaitMs)
    .option('--compress', 'compress whole segments with zstd')
    .option(
      '--history <duration>',
      'for streams: how long earlier states and deleted streams stay (default: 7d)',
      toAgeMs,
    )
    .option('--flush-bytes <size>', 'upload earlier if this many bytes wait (default: 64MiB)', toBytes)
  addJson(addBucket(addRetryFor(command))).action(run)
}

async function run(dir: string, bucket: string | undefined, flags: Flags, command: Command): Promise<void> {
  await using log = await open(mainLogOf(dir), { readOnly: true })
  if (flags.status) return await showStatus(WORDS, log, flags, command)
  if (!isBucket(bucket)) throw new InputError('name the bucket: s3://bucket/prefix', ExitCode.usage)
  const ending = endingSignal()
  await using archiver = archive(log, {
    ...toBucketAccess(bucket, flags),
    cursor: flags.cursor,
    flushMs: flags.flush,
    flushBytes: flags.flushBytes,
    historyMs: flags.history,
    compress: flags.compress ? 'zstd' : 'none',
    retryForMs: flags.retryFor,
  })
  archiver.on('forked', (generation, from) =>
    reporter(flags.json === true)(
      'forked',
      { generation, from },
      `the log was truncated or restored: a new history of generation ${generation} begins with record ${from}`,
    ),
  )
  const stats = (): CopierStats => {
    const { archivedSeq: seq, ...more } = archiver.stats()
    return { seq, ...more }
  }
  await watch(WORDS, archiver, stats, log, flags, ending)
}
