/** The tokens of `durlog serve` and their rights. */
import { createHash } from 'node:crypto'
import type { HttpRequest, Rights } from '../http/index.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'

const LETTERS: Record<string, keyof Rights> = { r: 'read', w: 'write', c: 'create', d: 'delete', l: 'list' }
const LINE = /^(\S{16,512})\s+([rwcdl]+)(?:\s+([^\s/]{1,256}))?$/

/**
 * Parses the content of the token file `path`. Each line has a token, its rights (letters of rwcdl) and, optionally,
 * its tenant. `#` begins a comment line.
 */
export function readTokens(path: string, content: string): (request: HttpRequest) => Rights | undefined {
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
