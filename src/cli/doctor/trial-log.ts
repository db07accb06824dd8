/** Tests a log in the doctor's temporary folder. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../index.js'
import { segmentFile, segmentSeqs } from '../../support/segment-name.js'
import type { LogStats } from '../../types.js'
import { type Finding, fail, notChecked, ok, warn } from './finding.js'
import type { Scratch } from './scratch.js'

const SEGMENT_BYTES = 2 ** 20
const RECORD = 'what durlog doctor stored'

/** Appends a record at every level with direct I/O, and opens the log as a second writer in another process. */
export async function tryDirect(scratch: Scratch): Promise<{ stats: LogStats; refused: string }> {
  const dir = join(scratch.folder, 'direct')
  await using log = await open(dir, { strategy: 'direct', segmentBytes: SEGMENT_BYTES })
  for (const durability of ['memory', 'async', 'sync', 'full'] as const) await log.append(RECORD, { durability })
  return { stats: log.stats(), refused: await scratch.openElsewhere(dir) }
}

/** Appends a record through a memory map. `coherent`: whether a read of the file sees the record. */
export async function tryMapped(scratch: Scratch): Promise<{ stats: LogStats; coherent: boolean }> {
  const dir = join(scratch.folder, 'mapped')
  await using log = await open(dir, { strategy: 'mmap', segmentBytes: SEGMENT_BYTES })
  log.write(RECORD)
  const segments = segmentSeqs(readdirSync(dir)).map(segmentFile)
  const coherent = segments.some((name) => readFileSync(join(dir, name)).includes(RECORD))
  return { stats: log.stats(), coherent }
}

export function judgeLock(refused: string): Finding {
  if (refused === 'ERR_DURLOG_LOCKED') return ok('lock', 'another process cannot open the log for writing')
  const found =
    refused === '' ? 'another process opened the same log for writing' : `another process failed with ${refused}`
  return fail('lock', `${found}: two writers would destroy a log`, 'put the log on a file system with locks (fcntl)')
}

export function judgeDirect({ mode, reason }: LogStats, logicalBlockBytes: number): Finding {
  if (mode !== 'direct')
    return warn(
      'direct I/O',
      reason,
      'records are equally safe; sync is faster on file systems with O_DIRECT (ext4, XFS)',
    )
  const blocks = logicalBlockBytes > 0 ? `; the device has blocks of ${logicalBlockBytes} bytes` : ''
  return ok('direct I/O', `works; durlog writes multiples of 4096 bytes${blocks}`)
}

export function judgeAllocation({ preallocate }: LogStats): Finding {
  if (preallocate !== 'none') return ok('allocation', 'space for a segment is allocated in advance')
  return warn(
    'allocation',
    'this file system does not allocate space in advance: a full disk is noticed only when a record is appended',
    'records are equally safe; watch the free space',
  )
}

export function judgeMap({ mode, reason }: LogStats, coherent: boolean): Finding {
  if (mode !== 'mmap') return notChecked('map', `not used: ${reason}`)
  if (coherent) return ok('map', 'a read of the file returns what was stored through the memory map')
  return fail(
    'map',
    'a read of the file does not see bytes that were stored through the memory map',
    "open the log with strategy 'pwrite'",
  )
}
