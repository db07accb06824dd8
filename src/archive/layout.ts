/** The names of an archive's objects. docs/ARCHIVE.md describes them. */

/** The number of digits of a seq in a name, as in the names of segments: names sort by seq. */
const DIGITS = 20

export function digitsOf(seq: number): string {
  return String(seq).padStart(DIGITS, '0')
}

/** The names of one history's objects. */
export class HistoryNames {
  /** The folder of whole segments, which are never deleted. */
  readonly log: string
  /** The folder of parts of segments that were not sealed. They are deleted once the whole segment is archived. */
  readonly tail: string
  /** The object that holds the boundary: see boundary.ts. */
  readonly boundary: string
  /** The object that holds the positions of the log's cursors. */
  readonly cursors: string
  /** The folder of gates: see gates.ts. */
  readonly gates: string

  /** `root` is the archive's folder. */
  constructor(root: string, generation: number) {
    const suffix = generation === 0 ? '' : `-${digitsOf(generation)}`
    this.log = `${root}log${suffix}/`
    this.tail = `${root}tail${suffix}/`
    this.boundary = `${root}boundary${suffix}`
    this.cursors = `${root}cursors${suffix}`
    this.gates = `${root}gate${suffix}/`
  }
}

/** The folder of a log's archive. */
export function archiveRoot(prefix: string, uuid: string): string {
  return `${prefix}${uuid}/`
}

/** The folder with one object for each history except the one of generation 0. */
export function historyFolder(root: string): string {
  return `${root}history/`
}

/** The folder of the checkpoints of a folder of streams: one object each, numbered from 0. */
export function checkpointFolder(root: string): string {
  return `${root}checkpoint/`
}

/** The folder of the packs that the checkpoints use. The name of a pack is its SHA-256. */
export function packFolder(root: string): string {
  return `${root}pack/`
}

/** The seq, generation or number in an object's key in `folder`; undefined if no object of the archive has this key. */
export function seqOfKey(folder: string, key: string): number | undefined {
  const name = key.slice(folder.length)
  const seq = /^0{4}\d{16}$/.test(name) ? Number(name) : Number.NaN
  return key.startsWith(folder) && Number.isSafeInteger(seq) ? seq : undefined
}
