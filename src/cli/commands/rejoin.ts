import type { Command } from 'commander'
import { rejoin as rejoinArchive } from '../../archive/index.js'
import { rejoin as rejoinStream } from '../../jetstream/index.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCounted, writeSummary } from '../../terminal/output.js'
import { addBucket, type BucketFlags, isBucket, toBucketAccess } from '../bucket-flags.js'
import { addNats, type NatsFlags, toAccess } from '../nats-flags.js'
import { endingSignal } from '../replicate.js'

interface Flags extends NatsFlags, BucketFlags {
  into: string
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Make DIR, the log or the streams of a writer that another copy has replaced ("durlog promote"), a replica. Its records that the DESTINATION does not have are copied to another log first, with their seqs and times, and their seqs are printed. Streams are moved to the other folder as a whole, and the seqs in each stream are printed. No other process may have DIR open. If it was interrupted, run it again. "durlog restore --follow" continues the replica.',
    )
    .argument('<dir>', 'the folder of the log, or of the streams')
    .argument(
      '[destination]',
      's3://bucket/prefix, or nats://host:port with --stream (default: NATS_URL, or nats://127.0.0.1:4222)',
    )
    .requiredOption('--into <folder>', 'a new folder for the records that were never replicated')
  addNats(addBucket(addJson(command))).action(run)
}

async function run(dir: string, url: string | undefined, flags: Flags): Promise<void> {
  const { into, json, stream, subject } = flags
  const common = { into, signal: endingSignal() }
  if (!isBucket(url) && stream === undefined)
    throw new InputError('to rejoin from a server, name its stream with --stream', ExitCode.usage)
  const report = isBucket(url)
    ? await rejoinArchive(dir, { ...common, ...toBucketAccess(url, flags) })
    : await rejoinStream(dir, { ...common, ...toAccess(url, flags), stream: stream as string, subject })
  if (json) return writeSummary(`${JSON.stringify(report)}\n`)
  const { nextSeq, first, last, records, streams } = report
  if (streams !== undefined) {
    const kept = streams.map(
      (one) => `stream ${one.name}: ${formatCounted(one.records, 'record')} from seq ${one.first} on\n`,
    )
    const never = records === 0 ? 'all of them are replicated' : 'these records were never replicated:'
    return writeSummary(`${into} holds the streams of ${dir}; ${never}\n${kept.join('')}`)
  }
  const kept =
    records === 0
      ? 'no record had to be kept'
      : `${into} holds ${formatCounted(records, 'record')} of it, seqs ${first} to ${last}`
  await writeSummary(`${dir} is a replica up to seq ${nextSeq - 1}; ${kept}\n`)
}
