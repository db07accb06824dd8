/**
 * The boundary of a history: the highest first seq of a tail object that may have been deleted. A store does not
 * remember deleted objects, so an archiver that was stopped for a long time may create one of them again. An archiver
 * therefore advances the boundary before it deletes objects, and reads it after it has created one.
 */

import type { Bucket } from './bucket.js'
import { inParallel } from './in-parallel.js'
import { sha256Of } from './piece.js'
import type { StoredFields } from './stored-fields.js'

function seqOf(fields: StoredFields): number {
  return fields.whole('seq')
}

/** Reads the boundary; -1 if nothing was deleted. */
export async function readBoundary(bucket: Bucket, key: string): Promise<number> {
  return (await bucket.getJson(key, seqOf))?.value ?? -1
}

/**
 * Deletes parts of the history whose boundary has `key`, in the order of their seqs, after it has raised the boundary.
 * Throws as `advanceBoundary`.
 */
export async function deleteParts(
  bucket: Bucket,
  key: string,
  parts: readonly { key: string; firstSeq: number }[],
): Promise<void> {
  const last = parts.at(-1)
  if (last === undefined) return
  await advanceBoundary(bucket, key, last.firstSeq)
  await inParallel(parts, (part) => bucket.delete(part.key))
}

/**
 * Raises the boundary to `seq` unless it is already as high. Throws ConditionFailed if another archiver raises it at
 * the same time.
 */
async function advanceBoundary(bucket: Bucket, key: string, seq: number): Promise<void> {
  const found = await bucket.getJson(key, seqOf)
  if (found !== undefined && found.value >= seq) return
  const body = Buffer.from(JSON.stringify({ seq }))
  const condition = found === undefined ? { ifAbsent: true as const } : { ifMatch: found.etag }
  await bucket.put(key, body, { sha256: await sha256Of(body), condition })
}
