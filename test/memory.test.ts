/** The memory that a read takes, compared with docs/SECURITY.md and measured in a child process. */
import { execFile } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { native } from '../src/native/native.js'
import { CraftedSegment, HEADER_BYTES, segmentName } from './fixtures/crafted-log.js'
import { openUntilDone, scratchDir } from './fixtures/scratch.js'

const MIB = 2 ** 20
const SEGMENT_BYTES = 128 * MIB
/** The frame with its header ends at a multiple of 8. */
const RECORD_BYTES = 12 * MIB - 24
/** Together more than twice the bytes that may be held at the same time. */
const FRAMES = 10
/** The variation of the process's own memory. */
const SLACK_BYTES = 32 * MIB

interface Peak {
  value: number | string
  peakBytes: number
}

async function peakOf(dir: string, call: string): Promise<Peak> {
  const child = fileURLToPath(new URL('fixtures/peak-memory.mjs', import.meta.url))
  return JSON.parse((await promisify(execFile)(process.execPath, [child, dir, call])).stdout)
}

/** A sparse segment with one atomic batch of long records, with or without its end. */
function hugeSegment({ ends }: { ends: boolean }): string {
  const dir = join(scratchDir(), 'log')
  mkdirSync(dir)
  const segment = new CraftedSegment({ segmentBytes: BigInt(SEGMENT_BYTES), fileBytes: HEADER_BYTES })
  const file = openSync(join(dir, segmentName(0)), 'w')
  ftruncateSync(file, SEGMENT_BYTES)
  writeSync(file, segment.bytes)
  const identity = native.crc32c(0, segment.bytes.subarray(16, 40))
  const zeros = Buffer.alloc(RECORD_BYTES)
  for (let seq = 0; seq < FRAMES; seq++) {
    const head = Buffer.alloc(24)
    const continues = seq < FRAMES - 1 || !ends
    head.writeUInt32LE(RECORD_BYTES + (continues ? 2 ** 28 : 0) + 2 * 2 ** 29)
    head.writeBigUInt64LE(BigInt(seq), 8)
    head.writeUInt32LE(native.crc32c(native.crc32c(identity, head), zeros), 4)
    writeSync(file, head, 0, head.length, HEADER_BYTES + seq * (24 + RECORD_BYTES))
  }
  closeSync(file)
  return dir
}

describe.skipIf(process.platform !== 'linux')('peak memory of a process, as Linux reports it', () => {
  test('the first record of an 80 MiB batch is read with little more memory than the record takes', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, { segmentBytes: 128 * MIB, maxPendingBytes: 128 * MIB })
    await log.appendBatch(Array.from({ length: 8 }, (_, i) => Buffer.alloc(10 * MIB, i)))
    await log.close()
    for (const call of ['first', 'get']) {
      const { value, peakBytes } = await peakOf(dir, call)
      expect(value).toBe(10 * MIB)
      expect(peakBytes, call).toBeLessThan(2 * 10 * MIB + SLACK_BYTES)
    }
  })

  test('a hostile batch makes no call hold more than two of its frames', async () => {
    const unfinished = hugeSegment({ ends: false })
    // The frames state that the records before them are synced, so verify counts those that a reader with salvage
    // delivers.
    for (const [call, expected] of [
      ['first', RECORD_BYTES],
      ['verify', `corrupt ${FRAMES}`],
    ] as const) {
      const { value, peakBytes } = await peakOf(unfinished, call)
      expect(value, call).toEqual(expected)
      expect(peakBytes, call).toBeLessThan(2 * RECORD_BYTES + SLACK_BYTES)
    }
    const { value, peakBytes } = await peakOf(hugeSegment({ ends: true }), 'first')
    expect(value).toBe(RECORD_BYTES)
    expect(peakBytes).toBeLessThan(2 * RECORD_BYTES + SLACK_BYTES)
  })
})
