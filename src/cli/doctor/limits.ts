/** Checks the free space on the disk and the limits of the process. */
import { readFileSync, type StatsFs } from 'node:fs'
import { formatBytes, formatCount } from '../../terminal/output.js'
import { type Finding, fail, notChecked, ok, warn } from './finding.js'

const SEGMENT_BYTES = 64 * 2 ** 20
/** A log needs this many segments: the active one, the spare, and one that is being trimmed. */
const LEAST_SEGMENTS = 3
const FEW_SEGMENTS = 16
const LEAST_INODES = 16
const FEW_INODES = 1000
/** Node itself uses about 20 descriptors; a log uses 7, and one for the segment of each reader. */
const LEAST_DESCRIPTORS = 64
const FEW_DESCRIPTORS = 1024

/** `segmentBytes`: the length of the log's next segments. */
export function judgeSpace({ bavail, blocks, bsize }: StatsFs, segmentBytes: number = SEGMENT_BYTES): Finding {
  const free = bavail * bsize
  const found = `${formatBytes(free)} free of ${formatBytes(blocks * bsize)}`
  const advice = 'make room, or open the log with a smaller segmentBytes'
  const segments = Math.floor(free / segmentBytes)
  const size = formatBytes(segmentBytes)
  if (segments < LEAST_SEGMENTS)
    return fail('free space', `${found}: a log needs room for ${LEAST_SEGMENTS} segments of ${size}`, advice)
  if (segments < FEW_SEGMENTS) return warn('free space', `${found}: ${segments} segments of ${size}`, advice)
  return ok('free space', found)
}

export function judgeInodes({ files, ffree }: StatsFs): Finding {
  if (files === 0) return ok('inodes', 'the file system creates inodes as needed')
  const found = `${formatCount(ffree)} free of ${formatCount(files)}`
  if (ffree < LEAST_INODES) return fail('inodes', found, 'remove files; each segment is a file')
  if (ffree < FEW_INODES) return warn('inodes', found, 'remove files, or use larger segments; each segment is a file')
  return ok('inodes', found)
}

/**
 * Returns the soft limit `name` from `limits`, the text of /proc/self/limits. Undefined if the text does not contain
 * it.
 */
export function softLimit(limits: string, name: string): number | undefined {
  const found = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1]
  if (found === undefined) return undefined
  return found === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found)
}

export function judgeDescriptors(limits: string): Finding {
  const limit = softLimit(limits, 'Max open files')
  if (limit === undefined) return notChecked('descriptors', 'the system has no /proc/self/limits')
  const found =
    limit === Number.POSITIVE_INFINITY ? 'no limit of open files' : `at most ${formatCount(limit)} open files`
  const advice = 'raise it: ulimit -n, or LimitNOFILE of the service'
  if (limit < LEAST_DESCRIPTORS) return fail('descriptors', found, advice)
  return limit < FEW_DESCRIPTORS ? warn('descriptors', found, advice) : ok('descriptors', found)
}

export function judgeFileSize(limits: string): Finding {
  const limit = softLimit(limits, 'Max file size')
  if (limit === undefined) return notChecked('file size', 'the system has no /proc/self/limits')
  if (limit === Number.POSITIVE_INFINITY) return ok('file size', 'no limit')
  const found = `a file may have at most ${formatBytes(limit)}`
  const advice = 'raise it: ulimit -f, or LimitFSIZE of the service; or open the log with a smaller segmentBytes'
  return limit < SEGMENT_BYTES
    ? fail('file size', `${found}, but a segment has 64 MiB`, advice)
    : ok('file size', found)
}

export function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

/** `setting` is the environment variable UV_THREADPOOL_SIZE. */
export function judgeThreads(setting: string | undefined): Finding {
  if (setting === undefined || setting === '')
    return ok(
      'threads',
      "libuv's pool has 4 threads, because UV_THREADPOOL_SIZE is not set; each log uses one for its commits",
    )
  const size = Number(setting)
  const found = `UV_THREADPOOL_SIZE is ${setting}`
  const advice = 'set it to at least 4, and to at least two for each log that commits continuously'
  if (!Number.isInteger(size) || size < 1) return warn('threads', `${found}, which is not a number of threads`, advice)
  if (size < 2) return warn('threads', `${found}: file access, name lookups and every log share one thread`, advice)
  return ok('threads', `${found}; each log uses one of these threads for its commits`)
}
