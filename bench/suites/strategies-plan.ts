/** The cases of the suite `strategies`, quick and full. */
import type { Durability, Preallocation, Strategy } from 'durlog'
import type { BaselineFile, BaselineMethod } from '../harness/baselines.js'

const MIB = 2 ** 20

export interface Config {
  strategy: Strategy
  preallocate: Preallocation
}

export interface RawCall {
  label: string
  method: BaselineMethod
  file: BaselineFile
}

/** The baselines of a level. The ratios are relative to the first raw call. */
export interface LevelPlan {
  level: Durability
  durability: string
  rawCalls: RawCall[]
}

export interface Extent {
  configs: Config[]
  /** Record sizes in bytes. */
  sizes: Record<Durability, number[]>
  rounds: number
  sliceMs: number
  segmentBytes: number
}

export const LEVELS: readonly LevelPlan[] = [
  {
    level: 'sync',
    durability: 'on the device: survives a power cut if the drive honours flushes',
    rawCalls: [
      { label: 'O_DIRECT+O_DSYNC', method: 'direct-dsync', file: 'zero' },
      { label: 'pwrite+fdatasync', method: 'pwrite-fdatasync', file: 'zero' },
      { label: 'pwrite+fdatasync', method: 'pwrite-fdatasync', file: 'fallocate' },
      { label: 'pwrite+fdatasync', method: 'pwrite-fdatasync', file: 'none' },
      { label: 'mmap+msync', method: 'mmap-msync', file: 'fallocate' },
      { label: 'mmap+msync', method: 'mmap-msync', file: 'zero' },
    ],
  },
  {
    level: 'full',
    durability: 'on the device, metadata included: the strongest level',
    rawCalls: [
      { label: 'pwrite+fsync', method: 'pwrite-fsync', file: 'zero' },
      { label: 'pwrite+fsync', method: 'pwrite-fsync', file: 'none' },
    ],
  },
  {
    level: 'async',
    durability: 'in the page cache, writeback started: survives kill -9, not a power cut',
    rawCalls: [{ label: 'pwrite+sync_file_range', method: 'pwrite-range', file: 'zero' }],
  },
  {
    level: 'memory',
    durability: 'in the page cache: survives kill -9, not a power cut',
    rawCalls: [
      { label: 'write(2) O_APPEND', method: 'write-append', file: 'none' },
      { label: 'mmap, populated ahead', method: 'mmap-populated', file: 'fallocate' },
      { label: 'mmap, faulting', method: 'mmap', file: 'fallocate' },
    ],
  },
]

/** Every strategy with every preallocation that it supports. The raw calls measure further preallocations. */
const CONFIGS: Config[] = [
  { strategy: 'auto', preallocate: 'auto' },
  ...(['mmap', 'pwrite', 'direct'] as const).flatMap((strategy): Config[] =>
    (strategy === 'mmap' ? (['auto', 'zero'] as const) : (['auto', 'none', 'zero'] as const)).map((preallocate) => ({
      strategy,
      preallocate,
    })),
  ),
]

export const QUICK: Extent = {
  configs: CONFIGS,
  sizes: { sync: [256, 4096], full: [256], async: [256], memory: [128] },
  rounds: 3,
  sliceMs: 40,
  segmentBytes: 32 * MIB,
}

export const FULL: Extent = {
  configs: CONFIGS,
  sizes: {
    sync: [256, 1024, 4096, 65536, MIB],
    full: [256, 4096, 65536],
    async: [256, 4096, 65536],
    memory: [128, 4095],
  },
  rounds: 5,
  sliceMs: 120,
  segmentBytes: 32 * MIB,
}
