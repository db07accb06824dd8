/** Inspects, verifies and repairs the files of a log that need not be open. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withAccepted } from './accepted-losses.js'
import { atCaller } from './caller-stack.js'
import { invalidArgument } from './errors.js'
import type { NativeFrame, NativeRepairReport, NativeSegmentReport, NativeVerifyReport } from './native/inspection.js'
import { native } from './native/native.js'
import { resolveDir, resolveRepairOptions } from './options/call-options.js'
import { shown } from './options/checks.js'
import { ofFileSystem } from './support/file-system-error.js'
import { segmentSeq } from './support/segment-name.js'

export interface VerifyReport extends Omit<NativeVerifyReport, 'syncedEnd'> {
  /** The places with losses that an operator has accepted (`durlog repair --salvage --apply`). */
  accepted: NativeVerifyReport['problems']
  /** The last seq that is known to be synced; -1 if there is none. */
  syncedSeq: number
}
export type SegmentReport = NativeSegmentReport
export type RepairReport = NativeRepairReport
export type Frame = NativeFrame

export interface LogSummary {
  dir: string
  uuid: string
  /** As `log.generation`. */
  generation: number
  firstSeq: number
  nextSeq: number
  /** The last seq that is known to be synced, -1 if there is none. */
  syncedSeq: number
  segments: SegmentSummary[]
}

export interface SegmentSummary {
  name: string
  firstSeq: number
  /** The file's length. */
  bytes: number
  /** The space that the file takes on the device. */
  allocatedBytes: number
}

export interface RepairOptions {
  /** Cuts the damaged bytes. Default false: only reports what would be cut. */
  apply?: boolean | undefined
  /** The folder that gets a copy of all bytes that are cut; it is created if necessary. Required with `apply`. */
  backup?: string | undefined
}

const FRAMES_PER_CALL = 1024

/**
 * Returns the log's identity, seqs and segments. Reads only the part of the log that may not be synced. Takes no lock
 * and changes nothing.
 */
export async function inspect(dir: string | URL): Promise<LogSummary> {
  const path = resolveDir(dir)
  for (;;) {
    const { uuid, generation, firstSeq, nextSeq, syncedEnd } = await atCaller(native.bounds(path))
    const segments = findSegments(path)
    if (segments !== undefined)
      return { dir: path, uuid, generation, firstSeq, nextSeq, syncedSeq: syncedEnd - 1, segments }
  }
}

/** Undefined if a segment was removed while the folder was read. */
function findSegments(path: string): SegmentSummary[] | undefined {
  const segments: SegmentSummary[] = []
  try {
    for (const name of readdirSync(path).sort()) {
      const firstSeq = segmentSeq(name)
      if (firstSeq === undefined) continue
      const { size, blocks } = statSync(join(path, name))
      segments.push({ name, firstSeq, bytes: size, allocatedBytes: blocks * 512 })
    }
    return segments
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw ofFileSystem(error)
  }
}

/**
 * Reads every record and reports damage. Takes no lock and changes nothing. Damage that an operator has accepted is
 * listed and does not count. An incomplete record that a running writer
 * has not acknowledged is not reported as damage.
 */
export async function verify(dir: string | URL): Promise<VerifyReport> {
  const path = resolveDir(dir)
  const { syncedEnd, ...report } = withAccepted(path, await atCaller(native.verify(path)))
  return { ...report, syncedSeq: syncedEnd - 1 }
}

/**
 * With `apply`: takes the writer's lock, copies the bytes of a torn tail or of a hole to `backup`, then cuts them.
 * Without `apply`: takes no lock and only reports what would be cut.
 */
export async function repair(dir: string | URL, options?: RepairOptions): Promise<RepairReport> {
  const { apply, backup } = resolveRepairOptions(options)
  return await atCaller(native.repair(resolveDir(dir), apply, backup))
}

/** Yields every frame of one segment as it is in the file, damaged frames included. */
export async function* frames(dir: string | URL, segment: string): AsyncGenerator<Frame, void, undefined> {
  const path = resolveDir(dir)
  if (typeof segment !== 'string')
    throw invalidArgument(`segment must be a name that inspect() lists; got ${shown(segment)}`)
  for (let offset = 0; ; ) {
    const page = await atCaller(native.frames(path, segment, offset, FRAMES_PER_CALL))
    yield* page
    const last = page.at(-1)
    if (last === undefined || last.bytes === 0) return
    offset = last.offset + last.bytes
  }
}
