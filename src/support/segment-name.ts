/** The names of segment files: see docs/FORMAT.md, "The folder". */
const NAME = /^(\d{20})\.seg$/

/** The name of the segment that begins with `firstSeq`. */
export function segmentFile(firstSeq: number): string {
  return `${String(firstSeq).padStart(20, '0')}.seg`
}

/** The first seq of the segment with this name; undefined if it is not the name of a segment. */
export function segmentSeq(name: string): number | undefined {
  const match = NAME.exec(name)
  return match === null ? undefined : Number(match[1])
}

/** The first seqs of the segments among `names`, in order. */
export function segmentSeqs(names: readonly string[]): number[] {
  return names.flatMap((name) => segmentSeq(name) ?? []).sort((a, b) => a - b)
}
