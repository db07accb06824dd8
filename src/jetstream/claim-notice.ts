/**
 * A notice that a copy of a log wants to claim a generation: a key of the key-value bucket `durlog-claims`. A claim
 * fails if a message of the former writer is stored between the last look of the claimer and its claim, and a writer
 * that publishes without pauses may always be faster. So a writer reads the notice once in a number of publishes, and
 * stops if it names a later generation than its own. A notice only stops a writer. The claim alone decides.
 *
 * A stream that drops old messages may have dropped a claim. So the claimer stores the notice before the claim, and a
 * writer that finds no message reads the notice before it publishes.
 */
import type { StoredMsg } from '@nats-io/jetstream'
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

/** Announces a claim, unless a later one was announced. A notice that arrives late replaces no later one. */
export async function announceClaim(
  live: LiveLink,
  { stream, subject, timeoutMs }: NoticePlace,
  notice: Notice,
  isReplicated: boolean,
): Promise<void> {
  await createBucket(live, BUCKET, isReplicated)
  const key = keySubject(BUCKET, { stream, subject })
  const place = { stream: `KV_${BUCKET}`, subject: key, timeoutMs }
  const found = await lastOfKey(live, BUCKET, key)
  if (found !== null && (generationIn(found, notice.uuid) ?? -1) >= notice.generation) return
  await publishAfter(live, place, '', found?.seq ?? 0, Buffer.from(JSON.stringify(notice)))
}

/** The generation of the log `uuid` whose claim was announced last; undefined if none was. */
export async function announcedGeneration(
  live: LiveLink,
  place: Pick<NoticePlace, 'stream' | 'subject'>,
  uuid: string,
): Promise<number | undefined> {
  const found = await lastOfKey(live, BUCKET, keySubject(BUCKET, place))
  return found === null ? undefined : generationIn(found, uuid)
}

/** The generation in a notice; undefined if it is of another log, or was deleted or damaged. */
function generationIn({ data }: StoredMsg, uuid: string): number | undefined {
  try {
    const found = JSON.parse(Buffer.from(data).toString()) as Notice
    if (found.uuid === uuid && isWhole(found.generation)) return found.generation
  } catch {
    // As another content.
  }
  return undefined
}

/** Reads the notice for a writer. */
export class ClaimWatch {
  readonly #live: LiveLink
  readonly #place: Pick<NoticePlace, 'stream' | 'subject'>
  readonly #onClaimed: (generation: number) => void
  #publishes = 0
  #isLooking = false

  /** `onClaimed` is called if the notice names a later generation than the writer's. */
  constructor(live: LiveLink, place: Pick<NoticePlace, 'stream' | 'subject'>, onClaimed: (generation: number) => void) {
    this.#live = live
    this.#place = place
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
    const claimed = (await announcedGeneration(this.#live, this.#place, uuid)) ?? 0
    if (claimed > generation) this.#onClaimed(claimed)
  }
}
