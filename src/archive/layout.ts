/** The names of an archive's objects. docs/ARCHIVE.md describes them. */

/** As in the name of a segment, so that names sort by seq. */
const DIGITS = 20

export function digitsOf(seq: number): string {
  return String(seq).padStart(DIGITS, '0')
}

/** The names of one history's objects. */
export class HistoryNames {
  /** Whole segments, which are never deleted. */
  readonly log: string
  /** Parts of segments that were not sealed; deleted when the whole segment is archived. */
  readonly tail: string
  /** The highest deleted seq of the tail. */
  readonly boundary: string

  /** `root` is that of the archive. `generation` is 0 for the first history. */
  constructor(root: string, generation: number) {
    const suffix = generation === 0 ? '' : `-${digitsOf(generation)}`
    this.log = `${root}log${suffix}/`
    this.tail = `${root}tail${suffix}/`
    this.boundary = `${root}boundary${suffix}`
  }
}

/** The folder of a log's archive. */
export function archiveRoot(prefix: string, uuid: string): string {
  return `${prefix}${uuid}/`
}

/** One object for each history but the first. */
export function historyFolder(root: string): string {
  return `${root}history/`
}

/** The positions of cursors. */
export function cursorsName(root: string): string {
  return `${root}cursors`
}

/** The first seq in an object's name; undefined for another object. */
export function seqOfKey(key: string): number | undefined {
  const digits = /\/(\d{20})$/.exec(key)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
