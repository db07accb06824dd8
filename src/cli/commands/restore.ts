import type { Command } from 'commander'
import { restore } from '../../jetstream/index.js'
import { addJson, parseBytes, parseTime, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCounted, formatSeqs, writeSummary } from '../../terminal/output.js'
import { type Progress, startProgress } from '../../terminal/progress.js'
import { addNats, type NatsFlags, toAccess } from '../nats-flags.js'

interface Flags extends NatsFlags {
  fromSeq?: number
  toSeq?: number
  toTime?: number
  follow?: boolean
  segmentBytes?: number
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('restore')
    .summary('restore a log from NATS JetStream')
    .description(
      'Restore into DIR, a new or empty folder, the log that was shipped to a stream at URL, with the same seqs, times, bytes and UUID. If it is killed, run it again to continue. Needs the packages @nats-io/jetstream and @nats-io/transport-node.',
    )
    .argument('<dir>', "the log's folder")
    .argument('[url]', 'nats://host:port (default: NATS_URL, or nats://127.0.0.1:4222)')
    .option('--from-seq <seq>', 'the first seq (default: the oldest)', parseWhole)
    .option('--to-seq <seq>', 'the last seq (default: the newest)', parseWhole)
    .option('--to-time <time>', 'end at this time: ISO 8601, or a time ago (90s, 15m, 2h, 7d)', parseTime)
    .option('--follow', 'do not end: a replica for reading, until SIGINT or SIGTERM')
    .option('--segment-bytes <bytes>', 'the segment length of the log', parseBytes)
  addJson(addNats(command)).action(run)
}

async function run(dir: string, url: string | undefined, flags: Flags): Promise<void> {
  const { stream, subject, fromSeq, toSeq, toTime, follow, segmentBytes, json } = flags
  if (stream === undefined) throw new InputError('the option --stream is required', ExitCode.usage)
  const ending = new AbortController()
  const end = (): void => ending.abort(new InputError('ended by a signal; run it again to continue', ExitCode.io))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  let progress: Progress | undefined
  const onProgress = async (restored: number, total: number): Promise<void> => {
    progress ??= await startProgress('restore', Number.isFinite(total) ? total : 0, json === true)
    progress.update(restored)
  }
  try {
    const report = await restore(dir, {
      ...toAccess(url, flags),
      stream,
      subject,
      from: fromSeq,
      to: toSeq,
      toTime,
      follow,
      segmentBytes,
      retryForMs: flags.retryFor,
      onProgress: (restored, total) => void onProgress(restored, total),
      signal: ending.signal,
    })
    if (json) return await writeSummary(`${JSON.stringify(report)}\n`)
    const { records, firstSeq, nextSeq } = report
    await writeSummary(`restored ${formatCounted(records, 'record')}; the log holds ${formatSeqs(firstSeq, nextSeq)}\n`)
  } finally {
    progress?.stop()
  }
}
