/** Finds a range of a segment's frames, for code that copies the segment's bytes. */
import type { NativeExtent } from './native/inspection.js'
import { native } from './native/native.js'

export type SegmentExtent = NativeExtent

/** See `extent` in src/native/native.ts. */
export function findExtent(
  dir: string,
  segment: string,
  { offset, seq, endSeq, maxBytes }: { offset: number; seq: number; endSeq: number; maxBytes: number },
): Promise<SegmentExtent> {
  return native.extent(dir, segment, offset, seq, endSeq, maxBytes)
}
