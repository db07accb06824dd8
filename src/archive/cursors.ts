/** The positions of a log's cursors, which are archived with its records. */
import { isCursorName } from '../options/cursor-options.js'
import type { ReplicationSession } from '../ship/destination.js'
import type { Bucket } from './bucket.js'
import { sha256Of } from './piece.js'
import type { StoredFields } from './stored-fields.js'

export interface ArchivedCursors {
  /** The last archived seq when the positions were read; -1 if there was none. */
  seq: number
  positions: CursorPositions
}

/** The next seq of each cursor, by its name. */
export type CursorPositions = Record<string, number>

function toCursors(fields: StoredFields): ArchivedCursors {
  const positions = fields.within('positions')
  return {
    seq: fields.whole('seq', { min: -1 }),
    positions: Object.fromEntries(
      positions.names(isCursorName).map((name) => [name, positions.whole(name, { min: -1 })]),
    ),
  }
}

/**
 * Stores the positions of all cursors except the archiver's in the object `key`, unless they are `known`. Returns the
 * positions as JSON. Throws ConditionFailed if another archiver stores them at the same time.
 */
export async function archiveCursors(
  bucket: Bucket,
  { log, cursor: own }: ReplicationSession,
  { key, seq, known }: { key: string; seq: number; known: string | undefined },
): Promise<string> {
  const cursors = (await log.cursors()).filter(({ name, state }) => name !== own.name && state === 'ready')
  const positions: CursorPositions = Object.fromEntries(cursors.map(({ name, position }) => [name, position]))
  const found = JSON.stringify(positions)
  if (found === known) return found
  const object = await bucket.getJson(key, toCursors)
  if (found === JSON.stringify(object?.value.positions ?? {})) return found
  const body = Buffer.from(JSON.stringify({ seq, positions } satisfies ArchivedCursors))
  // The condition refuses an upload of another archiver that arrives late.
  const condition = object === undefined ? { ifAbsent: true as const } : { ifMatch: object.etag }
  await bucket.put(key, body, { sha256: await sha256Of(body), condition })
  return found
}

export async function readCursors(bucket: Bucket, key: string): Promise<ArchivedCursors> {
  return (await bucket.getJson(key, toCursors))?.value ?? { seq: -1, positions: {} }
}
