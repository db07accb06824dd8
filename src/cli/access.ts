/** The token file and the certificate of `durlog serve`, which are read when it starts, and again at SIGHUP. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DurlogError } from '../errors.js'
import type { HttpRequest, Rights, ServerOptions, StreamsServer, TlsOptions } from '../http/index.js'
import { checkTls } from '../http/tls.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'

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
  readonly #flags: AccessFlags
  #contents: Contents
  #server: Pick<StreamsServer, 'setTls'> | undefined

  /** Throws an InputError for invalid content, or the error of reading a file. */
  constructor(flags: AccessFlags) {
    this.#contents = read(flags)
    this.#flags = flags
  }

  /** The options for a server that uses these files. */
  get options(): Pick<ServerOptions, 'authorize' | 'tls'> {
    const { rightsOf, tls } = this.#contents
    return { tls, authorize: rightsOf && ((request) => this.#contents.rightsOf?.(request)) }
  }

  /** Whether the command uses any of these files. */
  get hasFiles(): boolean {
    const { rightsOf, tls } = this.#contents
    return rightsOf !== undefined || tls !== undefined
  }

  /** From now on, `server` gets the certificate that `reload` reads. It was started with `options`. */
  use(server: Pick<StreamsServer, 'setTls'>): void {
    this.#server = server
    const { tls } = this.#contents
    // It may have been read again while the server started.
    if (tls !== undefined) server.setTls(tls)
  }

  /**
   * Reads all files again and uses them for new requests and connections. If it throws, the old contents stay in use.
   */
  reload(): void {
    const contents = read(this.#flags)
    if (contents.tls !== undefined) this.#server?.setTls(contents.tls)
    this.#contents = contents
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

const LETTERS: Record<string, keyof Rights> = { r: 'read', w: 'write', c: 'create', d: 'delete', l: 'list' }
const LINE = /^(\S{16,512})\s+([rwcdl]+)(?:\s+([^\s/]{1,256}))?$/

/**
 * Parses the content of the token file `path`. Each line has a token, its rights (letters of rwcdl) and, optionally,
 * its tenant. `#` begins a comment line.
 */
function readTokens(path: string, content: string): (request: HttpRequest) => Rights | undefined {
  const tokens = new Map<string, Rights>()
  for (const [at, line] of content.split('\n').entries()) {
    const text = line.trim()
    if (text === '' || text.startsWith('#')) continue
    const [, token, letters, tenant] = LINE.exec(text) ?? []
    if (token === undefined || letters === undefined)
      throw new InputError(
        `${path}, line ${at + 1}: expected a token of at least 16 characters, its rights (letters of rwcdl) and, optionally, a tenant`,
        ExitCode.badInput,
      )
    if (tokens.has(digest(token)))
      throw new InputError(`${path}, line ${at + 1}: an earlier line has this token`, ExitCode.badInput)
    const rights: Rights = { tenant }
    for (const letter of letters) Object.assign(rights, { [LETTERS[letter] as string]: true })
    tokens.set(digest(token), rights)
  }
  if (tokens.size === 0) throw new InputError(`${path} has no token`, ExitCode.badInput)
  return ({ header }) => {
    const [, token] = /^Bearer +(\S+)$/i.exec(header('authorization') ?? '') ?? []
    return token === undefined ? undefined : tokens.get(digest(token))
  }
}

/** Tokens are looked up by their digest, so that the time of a look-up does not show how much of a token is correct. */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
