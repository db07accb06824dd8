/** The positions of a log's cursors, which are archived with its records. */
import type { ReplicationSession } from '../ship/destination.js'
import type { Bucket } from './bucket.js'
import { archiveRoot, cursorsName } from './layout.js'
import { sha256Of } from './piece.js'

export interface ArchivedCursors {
  /** The last archived seq when the positions were read. */
  seq: number
  /** The next seq of each cursor, by its name. */
  positions: Record<string, number>
}

/** Stores the positions of all cursors except the archiver's if they differ from `known`. Returns the positions as JSON. */
export async function archiveCursors(
  bucket: Bucket,
  { log, cursor: own }: ReplicationSession,
  seq: number,
  known: string,
): Promise<string> {
  const positions: Record<string, number> = {}
  for (const { name, position, state } of await log.cursors()) {
    if (name !== own.name && state === 'ready') positions[name] = position
  }
  const found = JSON.stringify(positions)
  if (found === known || (known === '' && found === '{}')) return found
  const body = Buffer.from(JSON.stringify({ seq, positions } satisfies ArchivedCursors))
  await bucket.put(cursorsName(archiveRoot(bucket.prefix, log.uuid)), body, { sha256: await sha256Of(body) })
  return found
}

export async function readCursors(bucket: Bucket, root: string): Promise<ArchivedCursors> {
  const object = await bucket.get(cursorsName(root))
  if (object === undefined) return { seq: -1, positions: {} }
  return JSON.parse(object.body.toString('utf8')) as ArchivedCursors
}
