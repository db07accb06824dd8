import { describe, expect, test } from 'vitest'
import { DurlogError } from '../src/errors.js'
import {
  checkPayload,
  levelCode,
  resolveAppendOptions,
  resolveReadableOptions,
  resolveReadOptions,
} from '../src/options/call-options.js'
import { resolveOptions } from '../src/options/open-options.js'
import type { OpenOptions } from '../src/types.js'

/** The error for invalid options, passed as by a caller without types. */
function refusal(options: unknown): DurlogError {
  try {
    resolveOptions(options as OpenOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(DurlogError)
    return error as DurlogError
  }
  throw new Error('the options were accepted')
}

describe('defaults', () => {
  test('without options a log is durable, has 64 MiB segments, and the core chooses the strategy', () => {
    expect(resolveOptions()).toEqual({
      level: 2,
      salvage: false,
      readOnly: false,
      shared: false,
      waitMs: 0,
      commitDelayMicros: 0,
      retention: undefined,
      codec: undefined,
      native: {
        strategy: 'auto',
        preallocate: 'auto',
        segmentBytes: 64 * 2 ** 20,
        maxPendingBytes: 32 * 2 ** 20,
        maxRecordBytes: 16 * 2 ** 20,
        create: true,
        shared: false,
        expectedLevel: 2,
        salvage: false,
        maxRecyclable: 2,
        uuid: '',
        firstSeq: 0,
        firstSegmentBytes: 2 ** 20,
        generation: 0,
      },
    })
  })

  test('an option that is undefined has its default', () => {
    expect(resolveOptions({ segmentBytes: undefined, waitMs: undefined, durability: undefined })).toEqual(
      resolveOptions(),
    )
  })

  test('maxRecordBytes is lowered with segmentBytes and maxPendingBytes', () => {
    expect(resolveOptions({ segmentBytes: 65536 }).native.maxRecordBytes).toBe(65536 - 8192)
    expect(resolveOptions({ maxPendingBytes: 65536 }).native.maxRecordBytes).toBe(65536 - 8192)
  })
})

describe('an amount given as text', () => {
  test('is read like its number', () => {
    const { native, retention, ...resolved } = resolveOptions({
      segmentBytes: '16MiB',
      maxPendingBytes: '2g',
      maxRecordBytes: '64k',
      commitDelayMicros: '1.5ms',
      waitMs: '10s',
      retention: { maxBytes: '1 GB', maxAgeMs: '7d' },
    })
    expect(native).toMatchObject({ segmentBytes: 2 ** 24, maxPendingBytes: 2 ** 31, maxRecordBytes: 65_536 })
    expect(retention).toMatchObject({ maxBytes: 2 ** 30, maxAgeMs: 604_800_000 })
    expect(resolved).toMatchObject({ commitDelayMicros: 1500, waitMs: 10_000 })
  })

  test('is refused for a seq, a count and a moment', () => {
    for (const check of [
      () => resolveReadOptions({ from: '2k' }),
      () => resolveReadableOptions({ highWaterMark: '2k' }),
      () => resolveAppendOptions({ timestamp: '7d' }, 0),
    ])
      expect(check).toThrow(/must be a whole number( of [a-z 0-9]+)? from -?\d+ to \d+; got "/)
  })
})

describe('refusals', () => {
  test.each([
    [{ durability: 'fsync' }, 'durability', '"fsync"', 'memory, async, sync, full'],
    [{ strategy: 'uring' }, 'strategy', '"uring"', 'auto, mmap, pwrite, direct'],
    [{ preallocate: 'sparse' }, 'preallocate', '"sparse"', 'auto, none, zero'],
    [
      { segmentBytes: '64X' },
      'segmentBytes',
      '"64X"',
      '65536 to 1073741824, a multiple of 4096, or text such as "64k"',
    ],
    [{ segmentBytes: '2g' }, 'segmentBytes', '"2g"', '1073741824'],
    [{ retention: { maxAgeMs: '7' } }, 'retention.maxAgeMs', '"7"', '1000 to', '"7d"'],
    [{ retention: { maxAgeMs: '1.5ms' } }, 'retention.maxAgeMs', '"1.5ms"', 'whole number'],
    [{ segmentBytes: 65537 }, 'segmentBytes', '65537', 'a multiple of 4096'],
    [{ segmentBytes: 61440 }, 'segmentBytes', '61440', '65536'],
    [{ segmentBytes: 2 ** 31 }, 'segmentBytes', '2147483648', '1073741824'],
    [{ segmentBytes: Number.NaN }, 'segmentBytes', 'NaN', 'bytes'],
    [{ maxPendingBytes: 1 }, 'maxPendingBytes', '1', '65536'],
    [{ maxRecordBytes: 0 }, 'maxRecordBytes', '0', '1 to'],
    [{ maxRecordBytes: 65536, segmentBytes: 65536 }, 'maxRecordBytes', '65536', '57344'],
    [{ commitDelayMicros: -1 }, 'commitDelayMicros', '-1', 'microseconds'],
    [{ waitMs: 'long' }, 'waitMs', '"long"', 'milliseconds'],
    [{ retention: 5 }, 'retention', '5', 'object'],
    [{ recovery: true }, 'recovery', 'true', 'strict, salvage'],
    [{ readOnly: 'yes' }, 'readOnly', '"yes"', 'true or false'],
    [{ create: null }, 'create', 'null', 'true or false'],
  ])('%j is refused by an error that names the option, what came and what is allowed', (options, ...parts) => {
    const error = refusal(options)
    expect(error.code).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    for (const part of parts) expect(error.message).toContain(part)
  })

  test('an option that does not exist is refused, with the names that do', () => {
    const error = refusal({ segmentSize: 65536 })
    expect(error.code).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(error.message).toMatch(/segmentSize.*segmentBytes/)
    expect(refusal({ retention: { maxByte: 1 } }).message).toMatch(/"maxByte".*maxBytes/)
  })

  test('a map is refused without preallocation, which leaves blocks unallocated', () => {
    for (const options of [{ strategy: 'mmap' }, { shared: true }] as const)
      expect(refusal({ ...options, preallocate: 'none' }).message).toMatch(/auto, zero with.*got "none"/)
    expect(resolveOptions({ strategy: 'pwrite', preallocate: 'none' }).native.preallocate).toBe('none')
  })

  test('options that are not an object are refused', () => {
    for (const options of [null, 5, 'sync', []]) expect(refusal(options).code).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  })
})

test('an unknown level is refused, including names of object members', () => {
  expect(['memory', 'async', 'sync', 'full'].map((name) => levelCode(name as 'sync'))).toEqual([0, 1, 2, 3])
  expect(() => levelCode('toString' as 'sync')).toThrow(/durability must be one of/)
})

test('a record is refused if its type is wrong, if it is empty and if it is too long', () => {
  const refused = (data: unknown): string => {
    try {
      checkPayload(data, 4)
    } catch (error) {
      return (error as DurlogError).code
    }
    return 'none'
  }
  expect(refused('äö')).toBe('none')
  expect(refused(new Uint8Array(4))).toBe('none')
  expect(refused('äöü')).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(refused(new Uint8Array(5))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(refused('')).toBe('ERR_DURLOG_RECORD_EMPTY')
  expect(refused(new ArrayBuffer(3))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(refused(7)).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})
