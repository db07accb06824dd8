/** The lease of an archived log: the object `lease` in the archive's folder. */
import { LEASE_RANGE, type LeasePlace, type LeaseValue, type StoredLease } from '../ship/lease.js'
import { Bucket } from './bucket.js'
import type { ResolvedBucket } from './bucket-options.js'
import { archiveRoot } from './layout.js'
import { sha256Of } from './piece.js'
import { ConditionFailed } from './store-errors.js'

/** The longest timeout of a request: a request that hangs must not end a lease. */
const TIMEOUT_MS = 2000

export class BucketLease implements LeasePlace {
  readonly #closing = new AbortController()
  readonly #bucket: Bucket
  readonly #key: string

  constructor(options: ResolvedBucket, uuid: string) {
    const timeoutMs = Math.min(options.timeoutMs, TIMEOUT_MS)
    this.#bucket = new Bucket({ ...options, timeoutMs }, this.#closing.signal)
    this.#key = `${archiveRoot(options.prefix, uuid)}lease`
  }

  async read(): Promise<StoredLease | undefined> {
    const found = await this.#bucket.getJson(this.#key, (fields) => ({
      owner: fields.uuid('owner'),
      copy: fields.has('copy') ? fields.uuid('copy') : undefined,
      beat: fields.whole('beat'),
      ms: fields.whole('ms', LEASE_RANGE),
    }))
    return found && { ...found.value, version: found.etag }
  }

  async write(value: LeaseValue, version: string | undefined): Promise<string | undefined> {
    const body = Buffer.from(JSON.stringify(value))
    const condition = version === undefined ? ({ ifAbsent: true } as const) : { ifMatch: version }
    try {
      return await this.#bucket.put(this.#key, body, { sha256: await sha256Of(body), condition })
    } catch (error) {
      if (error instanceof ConditionFailed) return undefined
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
  }
}
