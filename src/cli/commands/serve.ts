import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { archiveTo, standBy as standByArchive } from '../../archive/index.js'
import { type ServerOptions, type StreamsServer, serveLog, serveStreams } from '../../http/index.js'
import { listen } from '../../http/listen.js'
import { BODY_SIZES, CONNECTION_COUNTS, namesOf, originsOf, PORTS, STREAM_COUNTS, WAITS } from '../../http/options.js'
import type { DurlogError, LeaseView, ReplicateTo } from '../../index.js'
import { jetstream, standBy as standByStream } from '../../jetstream/index.js'
import { onAbort } from '../../options/abort-signal.js'
import { type Range, whole } from '../../options/checks.js'
import { LEASE_MS, LEASE_RANGE } from '../../ship/lease.js'
import type { ShipRetry } from '../../ship/types.js'
import { openStreams, type Streams, type StreamsOptions } from '../../streams/index.js'
import { checkContentType } from '../../streams/port/meta.js'
import { portOf } from '../../streams/port/port.js'
import { parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { visible } from '../../terminal/visible.js'
import { Access, type AccessFlags } from '../access.js'
import { AccessLog } from '../access-log.js'
import { toAgeMs, toBytes } from '../arguments.js'
import { type BucketFlags, isBucket, toBucketAccess } from '../bucket-flags.js'
import { environmentFlags, toAccess } from '../nats-flags.js'
import { ENDING, endingSignal } from '../replicate.js'
import { type StandbyServer, startStandby } from '../standby-server.js'

interface Flags extends AccessFlags, BucketFlags {
  replicate?: string
  standby?: boolean
  lease?: number
  stream?: string
  subject?: string
  log?: string
  contentType?: string
  host: string
  port: number
  allowHost?: string[]
  cors?: string[]
  readOnly?: boolean
  shared?: boolean
  maxBody?: number
  maxStreams?: number
  maxConnections?: number
  longPoll?: number
  ui?: boolean
  accessLog?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Serve the streams in DIR over HTTP, by the Durable Streams protocol, until SIGINT or SIGTERM. At SIGHUP the token file and the certificate are read again; if neither is used, SIGHUP ends the server. Each line of a token file has a token, its rights (letters of rwcdl: read, write, create, delete, list) and, optionally, the tenant to whose streams it is limited. Without a token file, every client that can connect has all rights.',
    )
    .argument('[dir]', 'the folder of the streams; it is created if it does not exist')
    .option('--log <dir>', 'instead of streams, serve the log in this folder as one read-only stream with its name')
    .option(
      '--content-type <type>',
      "the content type of the log's records; for application/json, each is a JSON value",
    )
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <port>', 'the port to listen on; 0 for any', within('--port', PORTS), 4437)
    .option('--token-file <file>', 'accept only requests with a token from this file')
    .addOption(
      new Option(
        '--allow-host <name...>',
        'without --token-file: accept requests to these names too, not only to IP addresses and localhost',
      ),
    )
    .option('--tls-cert <file>', 'serve HTTPS with this certificate')
    .option('--tls-key <file>', 'the key of the certificate')
    .addOption(new Option('--cors <origin...>', 'allow web pages of these origins to send requests; * for all'))
    .option('--read-only', 'refuse all requests except reads')
    .option(
      '--replicate <url>',
      'answer an append only when this destination has it too: s3://bucket/prefix, or nats://host:port with --stream',
    )
    .option(
      '--standby',
      'of --replicate: while another server holds the lease, keep a replica in DIR and answer each request with 503; when the lease ends, take over. If DIR is the folder of a server, serve it at once',
    )
    .option(
      '--lease <duration>',
      'of --replicate: how long a standby waits for a sign of life of this server (default: 15s)',
      within('--lease', LEASE_RANGE, toAgeMs),
    )
    .option('--stream <name>', 'of --replicate: the name of the stream')
    .option('--subject <name>', 'of --replicate: the subject (default: the only subject of the stream)')
    .option('--endpoint <url>', 'of --replicate: the URL of the S3-compatible store (default: AWS)')
    .option('--region <name>', 'of --replicate: the region of the bucket (default: us-east-1)')
    .option('--shared', 'allow other processes to use the folder too, which makes appends slower')
    .option(
      '--max-body <size>',
      'the longest body of a request (default: 8MiB)',
      within('--max-body', BODY_SIZES, toBytes),
    )
    .option(
      '--max-streams <count>',
      'the largest number of streams of a tenant (default: no limit)',
      within('--max-streams', STREAM_COUNTS),
    )
    .option(
      '--max-connections <count>',
      'the largest number of open connections (default: 25000)',
      within('--max-connections', CONNECTION_COUNTS),
    )
    .option(
      '--long-poll <duration>',
      'how long a long-poll waits for data (default: 30s)',
      within('--long-poll', WAITS, toAgeMs),
    )
    .option('--ui', 'serve a page at / that shows the streams')
    .option('--access-log', 'write a line of JSON for each request to stdout; needs the package pino')
    .action(run)
}

/** A parser whose errors name the flag. The server's errors would name its option. */
function within(flag: string, range: Range, parse = parseWhole): (text: string) => number {
  return (text) => whole(flag, parse(text), range, 0)
}

async function run(dir: string | undefined, flags: Flags): Promise<void> {
  const taker = flags.cors === undefined ? flags.allowHost && '--allow-host' : '--cors'
  if (dir === undefined && flags.log === undefined && taker !== undefined)
    throw new InputError(`name the folder before ${taker}, which takes all words that follow it`, ExitCode.usage)
  if ((dir === undefined) === (flags.log === undefined))
    throw new InputError('name the folder of the streams, or use --log with the folder of a log', ExitCode.usage)
  if (flags.contentType !== undefined && flags.log === undefined)
    throw new InputError('--content-type needs --log: each stream has its own content type', ExitCode.usage)
  if (flags.contentType !== undefined) checkContentType('--content-type', flags.contentType)
  if (flags.allowHost !== undefined) namesOf('--allow-host', flags.allowHost)
  if (flags.cors !== undefined) originsOf('--cors', flags.cors)
  const access = new Access(flags)
  const log = flags.accessLog === true ? await AccessLog.start(say) : undefined
  // Without files to read again, and on Windows, SIGHUP means that the terminal was closed.
  const canReload = access.hasFiles && process.platform !== 'win32'
  if (canReload) process.on('SIGHUP', () => reload(access))
  const ending = endingSignal(canReload ? ENDING : [...ENDING, 'SIGHUP'])
  await serve(dir, flags, access, log, ending)
  await log?.end()
}

async function serve(
  dir: string | undefined,
  flags: Flags,
  access: Access,
  log: AccessLog | undefined,
  ending: AbortSignal,
): Promise<void> {
  if (flags.log === undefined) {
    await checkAddress(flags)
    const options = toOptions(flags, access, log)
    await using standby = await standUntilTaken(dir as string, flags, access, options, ending)
    // Opening may wait for the destination without limit. Like a kill, an exit loses no acknowledged record.
    const stopWatching = onAbort(ending, () => process.exit())
    if (ending.aborted) return
    await using streams = await openStreams(dir as string, {
      exclusive: flags.shared !== true,
      ...toReplication(flags),
    })
    stopWatching()
    sayFailures(streams)
    standby?.serve(streams)
    await using server = standby ?? (await serveStreams(streams, options))
    await untilEnd(flags, access, server, streams.dir, ending)
  } else {
    await using server = await serveLog(flags.log, {
      ...toOptions(flags, access, log),
      contentType: flags.contentType,
    })
    await untilEnd(flags, access, server, resolve(flags.log), ending)
  }
}

/** With `--standby`, resolves with its server once the standby may open the folder, or at `signal`. */
async function standUntilTaken(
  dir: string,
  flags: Flags,
  access: Access,
  options: ServerOptions,
  signal: AbortSignal,
): Promise<StandbyServer | undefined> {
  const destination = toDestination(flags)
  if (flags.standby !== true) return undefined
  if (destination === undefined) throw new InputError('--standby needs --replicate', ExitCode.usage)
  let lease: LeaseView | undefined
  const server = await startStandby(options, () => lease)
  access.use(server)
  say(`standing by for ${resolve(dir)} at ${server.url}`)
  const onLease = (view: LeaseView): void => {
    if (view.ms === 0 && lease?.ms !== 0) say('no server has held the lease: start the first one without --standby')
    if (view.error !== undefined && lease?.error === undefined) say(`the lease cannot be read: ${view.error.message}`)
    if (view.isHeld && lease?.isHeld !== true) say('the lease has ended: taking over')
    lease = view
  }
  let said = ''
  const onRetry = ({ error: { message } }: ShipRetry): void => {
    if (message !== said) say(`an attempt failed, and is repeated: ${message}`)
    said = message
  }
  const report = await destination.standBy(dir, { signal, onLease, onRetry }).catch(async (error: unknown) => {
    if (signal.aborted) return undefined
    await server.close()
    throw error
  })
  if (report !== undefined) say(`this server has taken over: generation ${report.generation}`)
  return server
}

/** Says why checkpoints fail, once for each reason until one succeeds. */
function sayFailures(streams: Streams<unknown>): void {
  let said = ''
  const sayFailure = ({ message }: DurlogError): void => {
    if (message !== said) say(`a checkpoint failed: ${message}`)
    said = message
  }
  streams.on('checkpoint', () => {
    if (said !== '') say('checkpoints succeed again')
    said = ''
  })
  streams.on('checkpointFailed', sayFailure)
  // It may have failed before this process has connected.
  const { checkpointFailure } = portOf(streams)
  if (checkpointFailure !== undefined) sayFailure(checkpointFailure)
}

interface Replica {
  replicate: ReplicateTo
  standBy(
    dir: string,
    options: { signal: AbortSignal; onLease: (lease: LeaseView) => void; onRetry: (retry: ShipRetry) => void },
  ): Promise<{ generation: number } | undefined>
}

/** The destination of `--replicate`; undefined without this option. */
function toDestination(flags: Flags): Replica | undefined {
  const { replicate: url, stream, subject, shared, lease: leaseMs = LEASE_MS } = flags
  if (url === undefined) return undefined
  if (shared === true) throw new InputError('--replicate cannot be combined with --shared', ExitCode.usage)
  if (isBucket(url)) {
    const bucket = toBucketAccess(url, flags)
    return {
      replicate: archiveTo({ ...bucket, leaseMs }),
      standBy: (dir, options) => standByArchive(dir, { ...bucket, ...options }),
    }
  }
  if (stream === undefined) throw new InputError('--replicate with a server needs --stream', ExitCode.usage)
  const place = { ...toAccess(url, environmentFlags()), stream, subject }
  return {
    replicate: jetstream({ ...place, leaseMs }),
    standBy: (dir, options) => standByStream(dir, { ...place, ...options }),
  }
}

/** The options of a folder that is replicated to the destination of `--replicate`. */
function toReplication(flags: Flags): Pick<StreamsOptions, 'replicate' | 'durability'> {
  const destination = toDestination(flags)
  return destination === undefined ? {} : { replicate: destination.replicate, durability: 'replicated' }
}

/** Rejects with the error of `listen` that the server would get, before `openStreams` creates the folder. */
async function checkAddress(flags: Flags): Promise<void> {
  const server = createServer((socket) => socket.destroy())
  await listen(server, flags)
  await new Promise((resolve) => server.close(resolve))
}

async function untilEnd(
  flags: Flags,
  access: Access,
  server: StreamsServer,
  dir: string,
  ending: AbortSignal,
): Promise<void> {
  access.use(server)
  const isOpen = flags.tokenFile === undefined && !/^(127\.|localhost$|::1$)/.test(flags.host)
  if (isOpen) say('every client that can connect has all rights: use --token-file')
  say(`serving ${dir} at ${server.url}`)
  if (!ending.aborted) await new Promise<void>((resolve) => void onAbort(ending, resolve))
}

function reload(access: Access): void {
  try {
    access.reload()
    say('the files of --token-file, --tls-cert and --tls-key were read again')
  } catch (error) {
    say(`the new files are not used, and the old contents stay in use: ${(error as Error).message}`)
  }
}

function say(line: string): void {
  process.stderr.write(`durlog: ${line.split('\n').map(visible).join('\n')}\n`)
}

function toOptions(flags: Flags, access: Access, log: AccessLog | undefined): ServerOptions {
  const { host, port, allowHost, cors, maxBody, maxStreams, maxConnections, longPoll } = flags
  return {
    host,
    port,
    hosts: flags.tokenFile === undefined ? allowHost : undefined,
    cors,
    maxBodyBytes: maxBody,
    maxStreams,
    maxConnections,
    longPollMs: longPoll,
    readOnly: flags.readOnly === true,
    ui: flags.ui === true,
    onError: (error) => say(`a request failed: ${error instanceof Error ? error.stack : error}`),
    ...access.options,
    onRequest: log && ((report) => log.add(report)),
  }
}
