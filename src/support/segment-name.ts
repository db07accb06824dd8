/** The names of segment files, and the folders that hold them: see docs/FORMAT.md, "The folder". */
import { readdirSync, statSync } from 'node:fs'

const NAME = /^(\d{20})\.seg$/
const SPARE = /^spare-[0-9a-f]{16}$/
/** The other files that the first process makes which opens a log, before it makes the first segment. */
const BEFORE_SEGMENTS: readonly string[] = ['lock', 'live']

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

/** Whether a file with this name will be renamed to a segment. */
export function isSpare(name: string): boolean {
  return SPARE.test(name)
}

/**
 * Whether a log may be copied into the folder `dir`: it is missing, or holds segments, or only what remains if a
 * process is killed while it creates a log.
 */
export function mayHoldCopy(dir: string): boolean {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true) return true
  const names = readdirSync(dir)
  return segmentSeqs(names).length > 0 || names.every((name) => BEFORE_SEGMENTS.includes(name) || isSpare(name))
}

/** A copy of a log has about this many segments at most, because each new one waits for the device. */
const COPY_SEGMENTS = 128
const COPY_SEGMENT_MIN_BYTES = 2 ** 16
const COPY_SEGMENT_MAX_BYTES = 2 ** 26

/** The option `segmentBytes` of a copy of a log with these segments: their largest size, or more if there are many. */
export function copySegmentBytes(segments: readonly { bytes: number }[]): number {
  const largest = segments.reduce((most, { bytes }) => Math.max(most, bytes), COPY_SEGMENT_MIN_BYTES)
  const total = segments.reduce((sum, { bytes }) => sum + bytes, 0)
  const even = Math.ceil(total / COPY_SEGMENTS / COPY_SEGMENT_MIN_BYTES) * COPY_SEGMENT_MIN_BYTES
  return Math.max(largest, Math.min(even, COPY_SEGMENT_MAX_BYTES))
}
