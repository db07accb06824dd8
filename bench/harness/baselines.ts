/** The typed interface of the bench's addon, which measures raw system calls in C++. */
import { loadBenchAddon } from './bench-addon.js'
import type { LatenciesUs } from './stats.js'

/** The way in which a record is written to the file; see src-native/bench/baseline.h. */
export type BaselineMethod =
  | 'direct-dsync'
  | 'direct-dsync-handed'
  | 'direct'
  | 'pwrite'
  | 'pwrite-range'
  | 'pwrite-fdatasync'
  | 'pwrite-fsync'
  | 'mmap'
  | 'mmap-populated'
  | 'mmap-msync'
  | 'mmap-msync-async'
  | 'write-append'
  | 'writev-append'
  | 'stdio-flush'
  | 'stdio'
  | 'aio-append'
  | 'direct-append'

/** The way in which the file's space is allocated before the first record; see src-native/bench/scratch_file.h. */
export type BaselineFile = 'none' | 'sparse' | 'fallocate' | 'keep-size' | 'zero-range' | 'zero' | 'data' | 'hint'

export interface BaselineSpec {
  path: string
  method: BaselineMethod
  preallocate: BaselineFile
  recordBytes: number
  /** The length of the file. Before a record would exceed it, the file is prepared again, untimed. */
  fileBytes: number
  /** The number of records over which one latency is the mean. Default 1. */
  recordsPerSample?: number
  /** The number of records between two syncs; 0: one sync at the end of each run. Default 1. */
  syncEvery?: number
  /** The number of the writer, below 64, which is stored in each record. Default 0. */
  writer?: number
  /** Whether several processes append to one file, which must be created with `prepareFile` first. Default false. */
  shared?: boolean
}

interface NativeBaseline {
  prepare(): Promise<void>
  run(samples: number): Promise<LatenciesUs>
  finish(): Promise<void>
}

export interface RandomWriteSpec {
  path: string
  preallocate: 'sparse' | 'fallocate' | 'data'
  /** The allocation of each 64 KiB cluster before the first write to it. */
  cluster: 'none' | 'zero-range' | 'zero'
  engine: 'io_uring' | 'threads'
  /** A multiple of 64 KiB. */
  fileBytes: number
  depth: number
  /** The extent size hint (FS_XFLAG_EXTSIZE); 0: none. */
  extentHintBytes: number
  millis: number
  intervalMillis: number
  seed: number
}

export interface VerifySpec {
  path: string
  /** The offset of the first record. */
  start: number
  /** The distance between the starts of two consecutive records. */
  stride: number
  recordBytes: number
}

export interface Verified {
  records: number
  duplicates: number
  /** The number of slots that are neither empty nor a whole record. */
  damaged: number
}

interface BenchAddon {
  supported: boolean
  Baseline: new (spec: Required<BaselineSpec>) => NativeBaseline
  prepareFile(path: string, preallocate: BaselineFile, bytes: number): Promise<void>
  verify(spec: VerifySpec): Promise<Verified>
  /** `writes` has the number of writes in each interval. */
  randomWrite(spec: RandomWriteSpec): Promise<{ writes: Float64Array; latencies: LatenciesUs }>
  /** Measures each implementation of CRC-32C that this processor supports, fastest first. */
  checksums(blockBytes: number, millis: number): Promise<{ implementation: string; gigabytesPerSecond: number }[]>
}

/** The error of a failed system call. */
export interface BaselineError extends Error {
  errno: number
  /** Whether the kernel or the file system does not support the call. This is not a failure of the run. */
  unsupported: boolean
}

let loaded: BenchAddon | undefined

function addon(): BenchAddon {
  loaded ??= loadBenchAddon() as BenchAddon | undefined
  if (loaded === undefined) throw new Error(MISSING_BASELINES)
  return loaded
}

/** The sentence of a report without baselines. */
export const MISSING_BASELINES: string =
  'raw system calls were not measured, because they need Linux with glibc: only the figures of durlog are shown'

/** Whether baselines can be measured: on Linux, if the bench's addon is available. */
export function baselinesSupported(): boolean {
  loaded ??= loadBenchAddon() as BenchAddon | undefined
  return loaded?.supported === true
}

export function isUnsupported(error: unknown): boolean {
  return error instanceof Error && (error as BaselineError).unsupported === true
}

export const prepareFile: BenchAddon['prepareFile'] = (...args) => addon().prepareFile(...args)
export const verifyRecords: BenchAddon['verify'] = (spec) => addon().verify(spec)
export const randomWrite: BenchAddon['randomWrite'] = (spec) => addon().randomWrite(spec)
export const measureChecksums: BenchAddon['checksums'] = (...args) => addon().checksums(...args)

/** A method that writes to a file. Only one call may run at a time. */
export class Baseline {
  readonly #native: NativeBaseline

  private constructor(native: NativeBaseline) {
    this.#native = native
  }

  /** Creates the file, untimed. */
  static async open(spec: BaselineSpec): Promise<Baseline> {
    const native = new (addon().Baseline)({ recordsPerSample: 1, syncEvery: 1, writer: 0, shared: false, ...spec })
    await native.prepare()
    return new Baseline(native)
  }

  /**
   * Appends `samples` * recordsPerSample records. Returns the mean time for a record of each sample, in microseconds.
   */
  run(samples: number): Promise<LatenciesUs> {
    return this.#native.run(samples)
  }

  async close(): Promise<void> {
    await this.#native.finish()
  }
}
