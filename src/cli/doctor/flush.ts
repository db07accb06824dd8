/** Checks whether a sync takes long enough to have reached a device. */
import { closeSync, constants, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, fail, ok, warn } from './finding.js'

const CHECK = 'flush'
const WRITES = 48
const BLOCK_BYTES = 4096
/**
 * No device stores a block in less time: the fastest need 10 us, and the measured time includes the call from
 * JavaScript.
 */
const SOONEST_FLUSH_US = 8
const SLOW_FLUSH_US = 20_000

export interface FlushTimes {
  /** The medians of a write of one block, and of the following fdatasync, in microseconds. */
  writeUs: number
  syncUs: number
  /** The lower quartile of the syncs, which other load on the disk does not raise much. */
  quickSyncUs: number
}

/** Measures overwrites of blocks that were synced before, so that no metadata changes. Creates a file in `folder`. */
export function measureFlush(folder: string): FlushTimes {
  const fd = openSync(join(folder, 'flush'), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    const block = Buffer.alloc(BLOCK_BYTES, 1)
    for (let i = 0; i < WRITES; i++) writeSync(fd, block, 0, BLOCK_BYTES, i * BLOCK_BYTES)
    fsyncSync(fd)
    const writes: number[] = []
    const syncs: number[] = []
    for (let i = 0; i < WRITES; i++) {
      const start = performance.now()
      writeSync(fd, block, 0, BLOCK_BYTES, i * BLOCK_BYTES)
      const written = performance.now()
      fdatasyncSync(fd)
      writes.push((written - start) * 1000)
      syncs.push((performance.now() - written) * 1000)
    }
    return { writeUs: quantile(writes, 1 / 2), syncUs: quantile(syncs, 1 / 2), quickSyncUs: quantile(syncs, 1 / 4) }
  } finally {
    closeSync(fd)
  }
}

function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b)
  return values[Math.floor(values.length * share)] as number
}

export function judgeFlush({ writeUs, syncUs, quickSyncUs }: FlushTimes): Finding {
  const figures = `${formatMicros(syncUs)} for an fdatasync of 4 KiB, ${formatMicros(writeUs)} for a write without one`
  if (quickSyncUs < SOONEST_FLUSH_US)
    return fail(
      CHECK,
      `${figures}: no device is that fast, so no flush reaches a device; sync and full are no safer than the level memory`,
      'look for a file system in memory, a mount without barriers, eatmydata, a virtual disk with cache=unsafe',
    )
  if (syncUs > SLOW_FLUSH_US)
    return warn(
      CHECK,
      `${figures}: about ${Math.max(1, Math.round(1e6 / syncUs))} commits a second`,
      'the disk is rotating, throttled, shared or busy: let many appends share a commit, or use a faster disk',
    )
  return ok(
    CHECK,
    `${figures}: the flush reaches a device; whether the data survives a power loss cannot be tested here`,
  )
}

function formatMicros(micros: number): string {
  return micros >= 1000
    ? `${(micros / 1000).toFixed(1)} ms`
    : `${micros >= 10 ? Math.round(micros) : micros.toFixed(1)} us`
}
