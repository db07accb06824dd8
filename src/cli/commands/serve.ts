import { once } from 'node:events'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import {
  type HandlerOptions,
  type ServerOptions,
  type StreamsServer,
  serveLog,
  serveStreams,
} from '../../http/index.js'
import { openStreams } from '../../streams/index.js'
import { parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { Access, type AccessFlags } from '../access.js'
import { toBytes } from '../arguments.js'

interface Flags extends AccessFlags {
  log?: string
  contentType?: string
  host: string
  port: number
  cors?: string[]
  readOnly?: boolean
  shared?: boolean
  maxBody?: number
  maxStreams?: number
  maxConnections?: number
  ui?: boolean
  accessLog?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Serve the streams in DIR over HTTP, by the Durable Streams protocol, until SIGINT, SIGTERM or, without files to read again, SIGHUP. A token file has lines of a token, its rights (letters of rwcdl: read, write, create, delete, list) and, optionally, a tenant whose streams it is limited to. Without one every client that reaches the port may do everything. At SIGHUP the token file and the certificate are read again.',
    )
    .argument('[dir]', 'the folder of the streams; it is created if it does not exist')
    .option('--log <dir>', 'instead of streams, serve the log in this folder, read-only, as one stream with its name')
    .option('--content-type <type>', "the content type of the log's records; of application/json each is a value")
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <port>', 'the port to listen on; 0 for any', parseWhole, 4437)
    .option('--token-file <file>', 'accept only requests with a token of this file')
    .option('--tls-cert <file>', 'serve HTTPS with this certificate')
    .option('--tls-key <file>', 'the key of the certificate')
    .addOption(new Option('--cors <origin...>', 'let pages of these origins call; * for all'))
    .option('--read-only', 'refuse everything but reads')
    .option('--shared', 'let other processes use the folder too, which takes more time for each append')
    .option('--max-body <size>', 'the longest body of a request', toBytes)
    .option('--max-streams <count>', 'streams that a tenant may have', parseWhole)
    .option('--max-connections <count>', 'connections that are open at a time', parseWhole)
    .option('--ui', 'serve a page at / that shows the streams')
    .option('--access-log', 'write a line of JSON for each request to stdout; needs the package pino')
    .action(run)
}

async function run(dir: string | undefined, flags: Flags): Promise<void> {
  if ((dir === undefined) === (flags.log === undefined))
    throw new InputError('name the folder of the streams, or with --log that of a log', ExitCode.usage)
  if (flags.contentType !== undefined && flags.log === undefined)
    throw new InputError('--content-type is for --log: each stream has its own', ExitCode.usage)
  const access = new Access(flags)
  const options = await toOptions(flags, access)
  if (flags.log === undefined) {
    await using streams = await openStreams(dir as string, { exclusive: flags.shared !== true })
    await using server = await serveStreams(streams, options)
    await untilSignal(flags, access, server, streams.dir)
  } else {
    await using server = await serveLog(flags.log, { ...options, contentType: flags.contentType })
    await untilSignal(flags, access, server, resolve(flags.log))
  }
}

async function untilSignal(flags: Flags, access: Access, server: StreamsServer, dir: string): Promise<void> {
  const isOpen = flags.tokenFile === undefined && !/^(127\.|localhost$|::1$)/.test(flags.host)
  if (isOpen) say('every client that reaches this port may do everything: use --token-file')
  const ends = ['SIGINT', 'SIGTERM']
  // Without files, and on Windows, SIGHUP says that the terminal was closed.
  if (access.hasFiles && process.platform !== 'win32') process.on('SIGHUP', () => reload(access, server))
  else ends.push('SIGHUP')
  say(`serving ${dir} at ${server.url}`)
  await Promise.race(ends.map((signal) => once(process, signal)))
}

function reload(access: Access, server: StreamsServer): void {
  try {
    access.reload(server)
    say('the files of --token-file, --tls-cert and --tls-key were read again')
  } catch (error) {
    say(`the files that were read before stay in use: ${(error as Error).message}`)
  }
}

function say(line: string): void {
  process.stderr.write(`durlog: ${line}\n`)
}

async function toOptions(flags: Flags, access: Access): Promise<ServerOptions> {
  const { host, port, cors, maxBody, maxStreams, maxConnections } = flags
  return {
    host,
    port,
    cors,
    maxBodyBytes: maxBody,
    maxStreams,
    maxConnections,
    readOnly: flags.readOnly === true,
    ui: flags.ui === true,
    onError: (error) => say(`a request failed: ${error instanceof Error ? error.stack : error}`),
    ...access.options,
    ...(flags.accessLog === true && { onRequest: await accessLog() }),
  }
}

/** The target of a request may hold secrets in its query only if the client puts them there; it is logged as it is. */
async function accessLog(): Promise<HandlerOptions['onRequest']> {
  const { pino } = await import('pino').catch(() => {
    throw new InputError('--access-log needs the package pino: npm install pino', ExitCode.usage)
  })
  const logger = pino()
  return (report) => logger.info(report, 'request')
}
