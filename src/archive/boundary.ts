/**
 * The highest deleted seq of a history's tail. A store forgets the names of deleted objects, so an archiver that was stopped
 * for a long time may create one of them again. It is advanced before anything is deleted, and read after each create.
 */

import { ConditionFailed } from './answers.js'
import type { Bucket } from './bucket.js'
import { sha256Of } from './piece.js'

/** -1 if nothing was deleted. */
export async function readBoundary(bucket: Bucket, key: string): Promise<number> {
  return (await find(bucket, key)).seq
}

async function find(bucket: Bucket, key: string): Promise<{ seq: number; etag: string | undefined }> {
  const object = await bucket.get(key)
  if (object === undefined) return { seq: -1, etag: undefined }
  const { seq } = JSON.parse(object.body.toString('utf8')) as { seq: number }
  return { seq, etag: object.etag }
}

/** Raises it to `seq` unless it is higher. */
export async function advanceBoundary(bucket: Bucket, key: string, seq: number): Promise<void> {
  for (;;) {
    const found = await find(bucket, key)
    if (found.seq >= seq) return
    const body = Buffer.from(JSON.stringify({ seq }))
    const condition = found.etag === undefined ? { ifAbsent: true as const } : { ifMatch: found.etag }
    try {
      await bucket.put(key, body, { sha256: await sha256Of(body), condition })
      return
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error
    }
  }
}
