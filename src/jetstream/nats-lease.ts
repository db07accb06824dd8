/** The lease of a shipped log: a key of the key-value bucket `durlog-leases`. */
import { DurlogError } from '../errors.js'
import { UUID } from '../options/checks.js'
import { ShipConflict } from '../ship/conflict.js'
import { LEASE_RANGE, type LeasePlace, type LeaseValue, type StoredLease } from '../ship/lease.js'
import { createBucket, isDeleted, keySubject, lastOfKey } from './key-value.js'
import { type LiveLink, NatsLink } from './nats-link.js'
import type { ResolvedPlace } from './options.js'
import { publishAfter } from './publish-after.js'
import { findStream, type StreamFacts } from './stream.js'

const BUCKET = 'durlog-leases'
/** The longest timeout of a request: a request that hangs must not end a lease. */
const TIMEOUT_MS = 2000

export class NatsLease implements LeasePlace {
  readonly #place: ResolvedPlace
  readonly #link: NatsLink
  #facts: StreamFacts | undefined
  /** The sequence of the marker of a deleted lease, which the next value must follow; 0 if there is none. */
  #deletedAt = 0

  constructor(place: ResolvedPlace) {
    this.#place = { ...place, timeoutMs: Math.min(place.timeoutMs, TIMEOUT_MS) }
    this.#link = new NatsLink(this.#place)
  }

  read(): Promise<StoredLease | undefined> {
    return this.#ask(async (live, subject) => {
      const message = await lastOfKey(live, BUCKET, subject)
      const isAbsent = message === null || isDeleted(message)
      this.#deletedAt = isAbsent ? (message?.seq ?? 0) : 0
      return isAbsent ? undefined : { ...valueIn(message.data, subject), version: String(message.seq) }
    })
  }

  write(value: LeaseValue, version: string | undefined): Promise<string | undefined> {
    return this.#ask(async (live, subject, { replicated }) => {
      if (version === undefined) await createBucket(live, BUCKET, replicated)
      const place = { stream: `KV_${BUCKET}`, subject, timeoutMs: this.#place.timeoutMs }
      try {
        return String(
          await publishAfter(live, place, '', Number(version ?? this.#deletedAt), Buffer.from(JSON.stringify(value))),
        )
      } catch (error) {
        if (error instanceof ShipConflict) return undefined
        throw error
      }
    })
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  async #ask<T>(ask: (live: LiveLink, subject: string, facts: StreamFacts) => Promise<T>): Promise<T> {
    try {
      const live = await this.#link.open()
      this.#facts ??= await findStream(live, this.#place, { use: 'restore' })
      const { stream } = this.#place
      return await ask(live, keySubject(BUCKET, { stream, subject: this.#facts.subject }), this.#facts)
    } catch (error) {
      await this.#link.leaveAfter(error)
      throw error
    }
  }
}

function valueIn(data: Uint8Array, subject: string): LeaseValue {
  try {
    const { owner, copy, beat, ms } = JSON.parse(Buffer.from(data).toString()) as LeaseValue
    const isMs = Number.isSafeInteger(ms) && ms >= LEASE_RANGE.min && ms <= LEASE_RANGE.max
    const isCopy = copy === undefined || UUID.test(copy)
    if (UUID.test(owner) && isCopy && Number.isSafeInteger(beat) && isMs) return { owner, copy, beat, ms }
  } catch {
    // As another content.
  }
  throw new DurlogError('ERR_DURLOG_DESTINATION_OTHER', `the last message of ${subject} was not published by durlog`)
}
