import type { Command } from 'commander'
import { open } from '../../index.js'
import { ship } from '../../jetstream/index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { addRetryFor } from '../arguments.js'
import { addNats, type NatsFlags, toAccess } from '../nats-flags.js'
import { type CopierStats, endingSignal, type ReplicationWords, reporter, showStatus, watch } from '../replicate.js'

interface Flags extends NatsFlags {
  once?: boolean
  status?: boolean
  cursor: string
  replicas: number
  create: boolean
  skipGaps?: boolean
  split: boolean
  pack?: boolean
  maxInFlight: number
  retryFor?: number
  json?: boolean
}

const WORDS: ReplicationWords = { command: 'ship', done: 'shipped', agent: 'shipper' }

export function register(command: Command): void {
  command
    .description(
      'Ship every synced record to a stream of NATS JetStream at URL (or several URLs, separated by commas), exactly once and in order, until SIGINT or SIGTERM. Other processes may write the log meanwhile. Needs the packages @nats-io/jetstream and @nats-io/transport-node.',
    )
    .argument('<dir>', 'the folder of the log')
    .argument('[url]', 'nats://host:port (default: NATS_URL, or nats://127.0.0.1:4222)')
    .option('--once', 'end when all records that are synced now are shipped')
    .option(
      '--status',
      'only print the position, the health and the last error of the shipper without contacting the server',
    )
    .option('--cursor <name>', 'the cursor of the log for this destination', 'ship')
    .option('--replicas <count>', 'the number of replicas of a stream that is created', parseWhole, 1)
    .option('--no-create', 'do not create a missing stream')
    .option('--skip-gaps', 'continue after records that neither the log nor the stream holds')
    .option('--no-split', 'stop at a record that is longer than a message may be')
    .option('--pack', 'store several records in one message, which is much faster; consumers must unpack them')
    .option('--max-in-flight <count>', 'the largest number of unacknowledged records', parseWhole, 2000)
  addJson(addNats(addRetryFor(command))).action(run)
}

async function run(dir: string, url: string | undefined, flags: Flags, command: Command): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  if (flags.status) return await showStatus(WORDS, log, flags, command)
  const { stream, subject } = flags
  if (stream === undefined) throw new InputError('the option --stream is required', ExitCode.usage)
  const ending = endingSignal()
  await using shipper = ship(log, {
    ...toAccess(url, flags),
    stream,
    subject,
    cursor: flags.cursor,
    replicas: flags.replicas,
    create: flags.create,
    skipGaps: flags.skipGaps,
    oversized: flags.split ? 'split' : 'refuse',
    pack: flags.pack ?? false,
    maxInFlight: flags.maxInFlight,
    retryForMs: flags.retryFor,
  })
  shipper.on('gap', (first, last) =>
    reporter(flags.json === true)(
      'gap',
      { first, last },
      `skipped records ${first} to ${last}, which neither the log nor the stream holds`,
    ),
  )
  const stats = (): CopierStats => {
    const { shippedSeq: seq, ...more } = shipper.stats()
    return { seq, ...more }
  }
  await watch(WORDS, shipper, stats, log, flags, ending)
}
