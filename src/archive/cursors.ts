/** The positions of a log's cursors, which are archived with its records. */
import type { ReplicationSession } from '../ship/destination.js'
import type { Bucket } from './bucket.js'
import { sha256Of } from './piece.js'

interface ArchivedCursors {
  /** The last archived seq when the positions were read. */
  seq: number
  positions: CursorPositions
}

/** The next seq of each cursor, by its name. */
export type CursorPositions = Record<string, number>

/**
 * Stores the positions of all cursors except the archiver's in the object `key`, unless they are `known`. Returns the positions as
 * JSON. Throws ConditionFailed if another archiver stores them at the same time.
 */
export async function archiveCursors(
  bucket: Bucket,
  { log, cursor: own }: ReplicationSession,
  { key, seq, known }: { key: string; seq: number; known: string | undefined },
): Promise<string> {
  const positions: CursorPositions = {}
  for (const { name, position, state } of await log.cursors()) {
    if (name !== own.name && state === 'ready') positions[name] = position
  }
  const found = JSON.stringify(positions)
  if (found === known) return found
  const object = await bucket.get(key)
  if (found === (object === undefined ? '{}' : JSON.stringify(positionsIn(object.body)))) return found
  const body = Buffer.from(JSON.stringify({ seq, positions } satisfies ArchivedCursors))
  // The condition refuses an upload of another archiver that arrives late.
  const condition = object === undefined ? { ifAbsent: true as const } : { ifMatch: object.etag }
  await bucket.put(key, body, { sha256: await sha256Of(body), condition })
  return found
}

export async function readCursors(bucket: Bucket, key: string): Promise<CursorPositions> {
  const object = await bucket.get(key)
  return object === undefined ? {} : positionsIn(object.body)
}

function positionsIn(body: Buffer): CursorPositions {
  return (JSON.parse(body.toString('utf8')) as ArchivedCursors).positions
}
