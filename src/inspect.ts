/** Looks at a log's files without opening it for writing: for tools. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { atCaller } from './caller-stack.js'
import { invalidArgument, ofFileSystem } from './errors.js'
import type { NativeFrame, NativeRepairReport, NativeSegmentReport, NativeVerifyReport } from './native/inspection.js'
import { native } from './native/native.js'
import { resolveDir, resolveRepairOptions } from './options/call-options.js'
import { shown } from './options/checks.js'

export interface VerifyReport extends Omit<NativeVerifyReport, 'syncedEnd'> {
  /** The last seq that is known to be synced, -1 if there is none. */
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
  /** The space that it takes on the device. */
  allocatedBytes: number
}

export interface RepairOptions {
  /** Cut; without it, report what would be cut. Default false. */
  apply?: boolean | undefined
  /** A folder, made if needed, that takes a copy of everything that is cut. Needed with `apply`. */
  backup?: string | undefined
}

const FRAMES_PER_CALL = 1024
const SEGMENT_NAME = /^(\d{20})\.seg$/

/** The log's identity, seqs and segments, without reading every record. Takes no lock. */
export async function inspect(dir: string | URL): Promise<LogSummary> {
  const path = resolveDir(dir)
  for (;;) {
    const { uuid, generation, firstSeq, nextSeq, syncedEnd } = await atCaller(native.bounds(path))
    const segments = findSegments(path)
    if (segments !== undefined)
      return { dir: path, uuid, generation, firstSeq, nextSeq, syncedSeq: syncedEnd - 1, segments }
  }
}

/** Undefined if one of them was removed meanwhile. */
function findSegments(path: string): SegmentSummary[] | undefined {
  const segments: SegmentSummary[] = []
  try {
    for (const name of readdirSync(path).sort()) {
      const match = SEGMENT_NAME.exec(name)
      if (match === null) continue
      const { size, blocks } = statSync(join(path, name))
      segments.push({ name, firstSeq: Number(match[1]), bytes: size, allocatedBytes: blocks * 512 })
    }
    return segments
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw ofFileSystem(error)
  }
}

/**
 * Reads every record and reports damage. Takes no lock and changes nothing. A record that a running writer has not
 * acknowledged is not damage.
 */
export async function verify(dir: string | URL): Promise<VerifyReport> {
  const { syncedEnd, ...report } = await atCaller(native.verify(resolveDir(dir)))
  return { ...report, syncedSeq: syncedEnd - 1 }
}

/** Cuts a torn tail or a hole after copying the bytes. With `apply` it takes the writer's lock; without, it only reports. */
export async function repair(dir: string | URL, options?: RepairOptions): Promise<RepairReport> {
  const { apply, backup } = resolveRepairOptions(options)
  return await atCaller(native.repair(resolveDir(dir), apply, backup))
}

/** Every frame of one segment as it is in the file, whole or not. */
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
