// A record's bytes follow from the seed, its id and its length.
import { seededRandom } from './random.mjs'

const ID_BYTES = 4

export function contentOf(seed, id, length) {
  const bytes = Buffer.alloc(length)
  // One in eight is all zeros after its id, so that lost bytes of it look like written ones.
  if (id % 8 !== 0) {
    const random = seededRandom(seed, id)
    for (let i = 0; i + ID_BYTES <= length; i += ID_BYTES) bytes.writeUInt32LE((random() * 4294967296) >>> 0, i)
    for (let i = length & ~(ID_BYTES - 1); i < length; ++i) bytes[i] = (random() * 256) | 0
  }
  if (length >= ID_BYTES) bytes.writeUInt32LE(id, 0)
  return bytes
}

/** For a violation's text: the record that these bytes look like. */
export function looksLike(bytes) {
  return bytes.length >= ID_BYTES ? `id ${bytes.readUInt32LE(0)}` : 'too short for an id'
}

const contents = new Map()

/** The same, cached by id: a verifier asks for it once for each disk. */
export function expectedContent(seed, { id, length }) {
  let bytes = contents.get(id)
  if (bytes?.length !== length) {
    bytes = contentOf(seed, id, length)
    contents.set(id, bytes)
  }
  return bytes
}
