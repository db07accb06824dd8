/** The raw system calls, measured in C++: a typed face of the bench's own addon. */
import { loadBenchAddon } from './bench-addon.js'
import type { LatenciesUs } from './stats.js'

/** How one record reaches the file; see src-native/bench/baseline.h. */
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

/** The file's space before the first record; see src-native/bench/scratch_file.h. */
export type BaselineFile = 'none' | 'sparse' | 'fallocate' | 'keep-size' | 'zero-range' | 'zero' | 'data' | 'hint'

export interface BaselineSpec {
  path: string
  method: BaselineMethod
  preallocate: BaselineFile
  recordBytes: number
  /** The file starts over, untimed, when it would grow beyond this. */
  fileBytes: number
  /** One latency is the mean over so many records. Default 1. */
  recordsPerSample?: number
  /** Records between two syncs; 0 is one at the end of each run. Default 1. */
  syncEvery?: number
  /** Stamped into each record, below 64. Default 0. */
  writer?: number
  /** Several processes append to one file, made with `prepareFile` before. Default false. */
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
  /** Done to each 64 KiB cluster before the first write to it. */
  cluster: 'none' | 'zero-range' | 'zero'
  engine: 'io_uring' | 'threads'
  /** A multiple of 64 KiB. */
  fileBytes: number
  depth: number
  /** FS_XFLAG_EXTSIZE; 0 is none. */
  extentHintBytes: number
  millis: number
  intervalMillis: number
  seed: number
}

export interface VerifySpec {
  path: string
  /** The offset of the first record. */
  start: number
  /** From one record's start to the next one's. */
  stride: number
  recordBytes: number
}

export interface Verified {
  records: number
  duplicates: number
  /** Slots that are neither empty nor a whole record. */
  damaged: number
}

interface BenchAddon {
  supported: boolean
  Baseline: new (spec: Required<BaselineSpec>) => NativeBaseline
  prepareFile(path: string, preallocate: BaselineFile, bytes: number): Promise<void>
  verify(spec: VerifySpec): Promise<Verified>
  /** `writes` by interval; `latencies` in us. */
  randomWrite(spec: RandomWriteSpec): Promise<{ writes: Float64Array; latencies: LatenciesUs }>
  /** Each CRC-32C that this processor runs, the quickest first. */
  checksums(blockBytes: number, millis: number): Promise<{ implementation: string; gigabytesPerSecond: number }[]>
}

/** The error of a refused system call. */
export interface BaselineError extends Error {
  errno: number
  /** The kernel or the file system has no such call: not a failure of the run. */
  unsupported: boolean
}

let loaded: BenchAddon | undefined

function addon(): BenchAddon {
  loaded ??= loadBenchAddon() as BenchAddon | undefined
  if (loaded === undefined) throw new Error('there is no durlog_bench.node for this system')
  return loaded
}

/** Whether there are baselines: on Linux, if the bench's addon has been built or shipped. */
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

/** One method on one file. One call at a time. */
export class Baseline {
  readonly #native: NativeBaseline

  private constructor(native: NativeBaseline) {
    this.#native = native
  }

  /** Makes the file, untimed. */
  static async open(spec: BaselineSpec): Promise<Baseline> {
    const native = new (addon().Baseline)({ recordsPerSample: 1, syncEvery: 1, writer: 0, shared: false, ...spec })
    await native.prepare()
    return new Baseline(native)
  }

  /** Appends `samples` * recordsPerSample records; microseconds for each record. */
  run(samples: number): Promise<LatenciesUs> {
    return this.#native.run(samples)
  }

  async close(): Promise<void> {
    await this.#native.finish()
  }
}
