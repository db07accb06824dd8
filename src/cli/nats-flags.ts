/**
 * The options of `ship` and `restore` for access to the servers. Secrets are read only from files or the environment.
 */
import { type Command, Option } from 'commander'
import type { NatsAccess } from '../jetstream/index.js'
import { toWaitMs } from './arguments.js'

export interface NatsFlags {
  stream?: string
  subject?: string
  creds?: string | undefined
  user?: string | undefined
  tls?: boolean
  tlsCa?: string | undefined
  tlsCert?: string | undefined
  tlsKey?: string | undefined
  tlsFirst?: boolean
  domain?: string
  timeout?: number
}

export const NATS_HELP = `
The environment variables NATS_PASSWORD and NATS_TOKEN hold the password and the
token. NATS_URL, NATS_USER, NATS_CREDS, NATS_CA, NATS_CERT and NATS_KEY are the
defaults of the arguments and options.`

export function addNats(command: Command): Command {
  return command
    .option('--stream <name>', 'the name of the stream')
    .option('--subject <name>', 'the subject of the log (default: the only subject of the stream)')
    .addOption(
      new Option('--creds <file>', 'the file with the credentials of the user, in the format of nsc').env('NATS_CREDS'),
    )
    .addOption(new Option('--user <name>', 'the user').env('NATS_USER'))
    .option('--tls', 'require TLS')
    .addOption(new Option('--tls-ca <file>', 'certificates of the trusted authorities').env('NATS_CA'))
    .addOption(new Option('--tls-cert <file>', "the client's certificate").env('NATS_CERT'))
    .addOption(new Option('--tls-key <file>', 'the key of that certificate').env('NATS_KEY'))
    .option('--tls-first', 'start TLS before the greeting of the server, for servers with handshake_first')
    .option('--domain <name>', 'the JetStream domain')
    .option('--timeout <duration>', 'the longest time for a response', toWaitMs, 10_000)
    .addHelpText('after', NATS_HELP)
}

/** The options of a command that has none for the credentials of the servers. */
export function environmentFlags(): NatsFlags {
  const { NATS_CREDS: creds, NATS_USER: user, NATS_CA: tlsCa, NATS_CERT: tlsCert, NATS_KEY: tlsKey } = process.env
  return { creds, user, tlsCa, tlsCert, tlsKey }
}

/** `urls` is one URL, or several URLs separated by commas. */
export function toAccess(urls: string | undefined, flags: NatsFlags): NatsAccess {
  const { env } = process
  const servers = (urls ?? env['NATS_URL'])?.split(',').map((url) => url.trim())
  const { tlsCa: caFile, tlsCert: certFile, tlsKey: keyFile, tlsFirst: handshakeFirst } = flags
  const details = caFile ?? certFile ?? keyFile ?? handshakeFirst
  return {
    servers,
    credentialsFile: flags.creds,
    user: flags.user,
    pass: env['NATS_PASSWORD'],
    token: env['NATS_TOKEN'],
    tls: details === undefined ? flags.tls : { caFile, certFile, keyFile, handshakeFirst },
    domain: flags.domain,
    timeoutMs: flags.timeout,
  }
}
