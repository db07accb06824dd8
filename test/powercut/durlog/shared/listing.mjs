// The contents of a log: for each seq, without a gap, the id of the record or VOID.
import { VOID } from './model.mjs'

/** Calls `look(seq, id, bytes)` for each record. */
export async function listingOf(log, look = () => {}) {
  const ids = []
  const first = log.firstSeq
  for await (const { seq, data } of log.read()) {
    while (first + ids.length < seq) ids.push(VOID)
    const id = data.length >= 4 ? data.readUInt32LE(0) : -1
    look(seq, id, data)
    ids.push(id)
  }
  while (first + ids.length < log.nextSeq) ids.push(VOID)
  return { first, next: log.nextSeq, uuid: log.uuid, ids }
}

export function openedNote({ first, next, uuid, ids }) {
  return ['o', next, uuid, first, ...ids].join(' ')
}
