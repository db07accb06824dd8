import type { Command } from 'commander'
import { takeOver as takeOverArchive } from '../../archive/index.js'
import { takeOver as takeOverStream } from '../../jetstream/index.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatSeqs, writeSummary } from '../../terminal/output.js'
import { addRetryFor } from '../arguments.js'
import { addBucket, type BucketFlags, isBucket, toBucketAccess } from '../bucket-flags.js'
import { addNats, type NatsFlags, toAccess } from '../nats-flags.js'
import { endingSignal, reporter, retryReporter } from '../replicate.js'

interface Flags extends NatsFlags, BucketFlags {
  uuid?: string
  force?: boolean
  retryFor?: number
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Make DIR the next writer of a replicated log. Restores the log into DIR, a new or empty folder, or continues the replica in DIR ("durlog restore --follow", which must have ended), up to the end that the DESTINATION holds, and claims the next generation. The former writer is then refused by the destination. If it was interrupted, run it again.',
    )
    .argument('<dir>', 'the folder of the log')
    .argument(
      '[destination]',
      's3://bucket/prefix, or nats://host:port with --stream (default: NATS_URL, or nats://127.0.0.1:4222)',
    )
    .option('--force', 'also replace a copy that has taken over and replicated nothing yet')
  addRetryFor(addJson(command), '5m').option('--uuid <uuid>', 'the UUID of the log, if the bucket holds several')
  addNats(addBucket(command)).action(run)
}

async function run(dir: string, url: string | undefined, flags: Flags): Promise<void> {
  const { uuid, force, stream, subject, retryFor: retryForMs, json } = flags
  const common = { force, retryForMs, onRetry: retryReporter(reporter(json === true)), signal: endingSignal() }
  if (!isBucket(url) && stream === undefined)
    throw new InputError('to take over from a server, name its stream with --stream', ExitCode.usage)
  const report = isBucket(url)
    ? await takeOverArchive(dir, { ...common, ...toBucketAccess(url, flags), uuid })
    : await takeOverStream(dir, { ...common, ...toAccess(url, flags), stream: stream as string, subject })
  if (json) return writeSummary(`${JSON.stringify(report)}\n`)
  const { firstSeq, nextSeq, generation } = report
  await writeSummary(`${dir} is the writer of generation ${generation} and holds ${formatSeqs(firstSeq, nextSeq)}\n`)
}
