/** The token file and the certificate of `durlog serve`, which are read when it starts, and again at SIGHUP. */
import { readFileSync } from 'node:fs'
import { DurlogError } from '../errors.js'
import type { HttpRequest, Rights, ServerOptions, StreamsServer, TlsOptions } from '../http/index.js'
import { checkTls } from '../http/tls.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { readTokens } from './tokens.js'

export interface AccessFlags {
  tokenFile?: string
  tlsCert?: string
  tlsKey?: string
}

interface Contents {
  rightsOf: ((request: HttpRequest) => Rights | undefined) | undefined
  tls: TlsOptions | undefined
}

export class Access {
  /** The options for the server that uses these files. */
  readonly options: Pick<ServerOptions, 'authorize' | 'tls'>
  readonly #flags: AccessFlags
  #rightsOf: Contents['rightsOf']

  /** Throws an InputError for invalid content, or the error of reading a file. */
  constructor(flags: AccessFlags) {
    const { rightsOf, tls } = read(flags)
    this.#flags = flags
    this.#rightsOf = rightsOf
    this.options = { tls, authorize: rightsOf && ((request) => this.#rightsOf?.(request)) }
  }

  /** Whether the server uses any of these files. */
  get hasFiles(): boolean {
    return this.#rightsOf !== undefined || this.options.tls !== undefined
  }

  /**
   * Reads all files again and uses them for new requests and connections. If it throws, the old contents stay in use.
   */
  reload(server: StreamsServer): void {
    const { rightsOf, tls } = read(this.#flags)
    if (tls !== undefined) server.setTls(tls)
    this.#rightsOf = rightsOf
  }
}

function read({ tokenFile, tlsCert, tlsKey }: AccessFlags): Contents {
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new InputError('--tls-cert and --tls-key must be used together', ExitCode.usage)
  return {
    rightsOf:
      tokenFile === undefined ? undefined : readTokens(tokenFile, readFlagFile('--token-file', tokenFile).toString()),
    tls: tlsCert === undefined ? undefined : readTls(tlsCert, tlsKey as string),
  }
}

/** Throws an InputError that names the flag, which the message of the system does not have. */
export function readFlagFile(flag: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new InputError(`can't read ${flag} ${path}: ${(error as Error).message}`, ExitCode.badInput)
  }
}

function readTls(certPath: string, keyPath: string): TlsOptions {
  const tls = { cert: readFlagFile('--tls-cert', certPath), key: readFlagFile('--tls-key', keyPath) }
  try {
    return checkTls(tls, { cert: `--tls-cert ${certPath}`, key: `--tls-key ${keyPath}` })
  } catch (error) {
    throw error instanceof DurlogError ? new InputError(error.message, ExitCode.badInput) : error
  }
}
