/**
 * A notice that a copy of a log wants to claim a generation: a key of the key-value bucket `durlog-claims`. A claim
 * fails if a message of the former writer is stored between the last look of the claimer and its claim, and a writer
 * that publishes without pauses may always be faster. So a writer reads the notice once in a number of publishes, and
 * stops if it names a later generation than its own. A notice only stops a writer. The claim alone decides.
 */
import { isWhole } from '../options/checks.js'
import type { ShipOrigin } from '../ship/types.js'
import { createBucket, keySubject, lastOfKey } from './key-value.js'
import type { LiveLink } from './nats-link.js'
import { publishAfter } from './publish-after.js'

const BUCKET = 'durlog-claims'
/** A writer reads the notice once in so many publishes. */
const PUBLISHES = 64

export interface NoticePlace {
  stream: string
  subject: string
  timeoutMs: number
}

/** The claim of a generation of the log `uuid`: another log may have the same subject later. */
interface Notice {
  uuid: string
  generation: number
}

/** Announces a claim. */
export async function announceClaim(
  live: LiveLink,
  { stream, subject, timeoutMs }: NoticePlace,
  notice: Notice,
  isReplicated: boolean,
): Promise<void> {
  await createBucket(live, BUCKET, isReplicated)
  const key = keySubject(BUCKET, { stream, subject })
  const place = { stream: `KV_${BUCKET}`, subject: key, timeoutMs }
  await publishAfter(live, place, '', undefined, Buffer.from(JSON.stringify(notice)))
}

/** Reads the notice for a writer. */
export class ClaimWatch {
  readonly #live: LiveLink
  readonly #key: string
  readonly #onClaimed: (generation: number) => void
  #publishes = 0
  #isLooking = false

  /** `onClaimed` is called if the notice names a later generation than the writer's. */
  constructor(live: LiveLink, place: Pick<NoticePlace, 'stream' | 'subject'>, onClaimed: (generation: number) => void) {
    this.#live = live
    this.#key = keySubject(BUCKET, place)
    this.#onClaimed = onClaimed
  }

  /** Must be called with each publish of a writer. */
  onPublish(writer: ShipOrigin): void {
    if (++this.#publishes < PUBLISHES || this.#isLooking) return
    this.#publishes = 0
    this.#isLooking = true
    // Without an answer, or without the right to read the bucket, the writer continues: the claim fences it.
    void this.#look(writer)
      .catch(() => {})
      .finally(() => {
        this.#isLooking = false
      })
  }

  async #look({ uuid, generation }: ShipOrigin): Promise<void> {
    const message = await lastOfKey(this.#live, BUCKET, this.#key)
    if (message === null) return
    const found = JSON.parse(Buffer.from(message.data).toString()) as Notice
    const isNewer = found.uuid === uuid && isWhole(found.generation) && found.generation > generation
    if (isNewer) this.#onClaimed(found.generation)
  }
}
