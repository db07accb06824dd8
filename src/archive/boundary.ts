/**
 * The boundary of a history: the highest first seq of a tail object that may have been deleted. A store does not remember deleted
 * objects, so an archiver that was stopped for a long time may create one of them again. An archiver therefore advances the
 * boundary before it deletes objects, and reads it after it has created one.
 */

import type { Bucket } from './bucket.js'
import { sha256Of } from './piece.js'
import { ConditionFailed } from './store-errors.js'

/** Reads the boundary; -1 if nothing was deleted. */
export async function readBoundary(bucket: Bucket, key: string): Promise<number> {
  return (await find(bucket, key)).seq
}

async function find(bucket: Bucket, key: string): Promise<{ seq: number; etag: string | undefined }> {
  const object = await bucket.get(key)
  if (object === undefined) return { seq: -1, etag: undefined }
  const { seq } = JSON.parse(object.body.toString('utf8')) as { seq: number }
  return { seq, etag: object.etag }
}

/** Raises the boundary to `seq` unless it is already as high. */
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
