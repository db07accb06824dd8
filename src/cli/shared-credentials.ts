/**
 * The credentials that the AWS tools use if the environment has none: the files ~/.aws/credentials and ~/.aws/config,
 * and the command `credential_process` in them. The files are read for each request, and the command runs again before
 * its result expires, so a command that runs for months uses new credentials.
 */
import { exec } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { S3Credentials } from '../archive/index.js'

/**
 * The result of a command is not used in this time before its expiration, or in the second half of a shorter lifetime.
 */
const EXPIRY_MS = 5 * 60_000
/** The lifetime of a result that names none. */
const LIFETIME_MS = 15 * 60_000

type Section = Map<string, string>

/**
 * Returns a function for the option `credentials`; undefined if the environment has credentials, or there are no files.
 */
export function sharedCredentials(): (() => Promise<S3Credentials>) | undefined {
  const { env } = process
  const files = [
    env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws', 'credentials'),
    env['AWS_CONFIG_FILE'] ?? join(homedir(), '.aws', 'config'),
  ]
  if (env['AWS_ACCESS_KEY_ID'] || !files.some((file) => existsSync(file))) return undefined
  const profile = env['AWS_PROFILE'] ?? 'default'
  const processes = new CredentialProcesses()
  return async () => {
    for (const file of files) {
      const section = await readSection(file, profile)
      const accessKeyId = section.get('aws_access_key_id')
      const secretAccessKey = section.get('aws_secret_access_key')
      const sessionToken = section.get('aws_session_token')
      if (accessKeyId !== undefined && secretAccessKey !== undefined)
        return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
      const command = section.get('credential_process')
      if (command !== undefined) return await processes.run(command)
    }
    throw new Error(`neither ${files.join(' nor ')} has credentials of the profile ${profile} (AWS_PROFILE)`)
  }
}

/** Reads a section of a file in the format INI. In the config file its name has the prefix `profile`. */
async function readSection(file: string, profile: string): Promise<Section> {
  const section: Section = new Map()
  const text = existsSync(file) ? await readFile(file, 'utf8') : ''
  let isOpen = false
  for (const line of text.split(/\r?\n/)) {
    const head = /^\s*\[\s*(?:profile\s+)?(.*?)\s*\]/.exec(line)
    if (head !== null) isOpen = head[1] === profile
    const pair = /^([\w-]+)\s*=\s*(.*?)\s*$/.exec(line)
    if (isOpen && pair !== null) section.set((pair[1] as string).toLowerCase(), pair[2] as string)
  }
  return section
}

class CredentialProcesses {
  #command = ''
  #renewMs = 0
  #result: Promise<S3Credentials> | undefined

  /** Runs the command, unless its last result is usable. Concurrent calls share one run. */
  run(command: string): Promise<S3Credentials> {
    if (this.#result === undefined || command !== this.#command || Date.now() >= this.#renewMs) {
      this.#command = command
      this.#renewMs = Number.POSITIVE_INFINITY
      this.#result = this.#start(command)
      this.#result.catch(() => {
        this.#renewMs = 0
      })
    }
    return this.#result
  }

  async #start(command: string): Promise<S3Credentials> {
    const { stdout } = await promisify(exec)(command, { windowsHide: true })
    const { Version, AccessKeyId, SecretAccessKey, SessionToken, Expiration } = Object(parse(stdout))
    if (Version !== 1 || typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string')
      throw new Error('credential_process must print JSON with Version 1, AccessKeyId and SecretAccessKey')
    const now = Date.now()
    const expires = Expiration === undefined ? now + LIFETIME_MS : Date.parse(Expiration)
    if (!(expires > now)) throw new Error(`credential_process returned credentials that have expired: ${Expiration}`)
    this.#renewMs = Math.max(expires - EXPIRY_MS, now + (expires - now) / 2)
    return {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      ...(typeof SessionToken === 'string' && { sessionToken: SessionToken }),
    }
  }
}

/** The output may hold a secret, which the error of JSON.parse would quote. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('credential_process printed no JSON')
  }
}
