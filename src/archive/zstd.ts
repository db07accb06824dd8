/**
 * Compression with zstd (RFC 8878): by node:zlib, which has it from Node 22.15 on, or by the package
 * @bokuweb/zstd-wasm, an optional peer dependency.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { DurlogError } from '../errors.js'
import { loadOptional } from '../support/optional-package.js'

const PACKAGE = '@bokuweb/zstd-wasm'
/** The file from which the package is resolved. A bundle of ES modules has no `__filename`. */
const FROM = typeof __filename === 'string' ? __filename : join(process.cwd(), 'index.js')

/**
 * The longest piece that the package decompresses. Its memory is limited to 2 GiB: if an allocation fails, it
 * overwrites its own memory and stays unusable.
 */
const PACKAGE_BYTES = 512 * 2 ** 20
/** The longest piece that the package compresses: it needs four times as much memory. */
const PACKAGE_COMPRESS_BYTES = 128 * 2 ** 20

/** The length of the parts that a stream produces. */
const CHUNK_BYTES = 2 ** 20

/** The first bytes of a frame (RFC 8878, 3.1.1). */
const MAGIC = 0xfd2fb528

export interface Zstd {
  /**
   * Rejects if the result would be longer than `length`, or if `bytes` are damaged; with ERR_DURLOG_UNSUPPORTED if the
   * result is too long.
   */
  decompress(bytes: Uint8Array, length: number): Promise<Uint8Array>
  /** Makes streams; undefined if only a whole piece can be compressed or decompressed. */
  streams?: {
    /** `length` is the number of bytes that will be compressed. */
    compress(length: number): Transform
    decompress(): Transform
  }
  /** If there are no streams: compresses in the calling thread. Returns undefined if `bytes` are too long. */
  compress?(bytes: Uint8Array): Uint8Array | undefined
}

/** The functions of node:zlib that the types of Node 20 do not have. */
interface ZlibZstd {
  createZstdCompress?: (options: { chunkSize: number; pledgedSrcSize: number }) => Transform
  createZstdDecompress?: (options: { chunkSize: number }) => Transform
  zstdDecompress?: (
    bytes: Uint8Array,
    options: { maxOutputLength: number },
    done: (error: Error | null, result: Buffer) => void,
  ) => void
}

let loaded: Promise<Zstd> | undefined

/** Rejects with ERR_DURLOG_UNSUPPORTED if neither is available. */
export function loadZstd(): Promise<Zstd> {
  loaded ??= load().catch((error) => {
    // A later call may find a free descriptor.
    loaded = undefined
    throw error
  })
  return loaded
}

async function load(): Promise<Zstd> {
  const { createZstdCompress, zstdDecompress, createZstdDecompress } = zlib as ZlibZstd
  if (createZstdCompress === undefined || zstdDecompress === undefined || createZstdDecompress === undefined)
    return await loadPackage()
  const decompress = promisify(zstdDecompress)
  return {
    decompress: (bytes, maxOutputLength) => decompress(bytes, { maxOutputLength }),
    streams: {
      compress: (length) => createZstdCompress({ chunkSize: CHUNK_BYTES, pledgedSrcSize: length }),
      decompress: () => createZstdDecompress({ chunkSize: CHUNK_BYTES }),
    },
  }
}

function loadPackage(): Promise<Zstd> {
  return loadOptional(`zstd needs Node 22.15 or newer, or the package ${PACKAGE}`, PACKAGE, async () => {
    const { init, compress, decompress } = requireCopy<typeof import('@bokuweb/zstd-wasm')>(PACKAGE)
    await init()
    return {
      compress: (bytes) => (bytes.length > PACKAGE_COMPRESS_BYTES ? undefined : compress(bytes as Buffer)),
      decompress: async (bytes, defaultHeapSize) => {
        if (Math.max(bytes.length, defaultHeapSize) > PACKAGE_BYTES) throw tooLongError()
        checkFrame(bytes, defaultHeapSize)
        return decompress(bytes as Buffer, { defaultHeapSize })
      },
    }
  })
}

/**
 * Loads a package for durlog alone. zstd-wasm has one instance for the process: a second `init`, by the application or
 * by another copy of durlog, would mix the memory of two instances, and `compress` would return wrong bytes without an
 * error.
 */
function requireCopy<Package>(name: string): Package {
  const load = createRequire(FROM)
  const folder = dirname(load.resolve(name))
  const takeLoaded = (): NodeJS.Dict<NodeModule> => {
    const loaded = Object.entries(load.cache).filter(([path]) => path.startsWith(folder))
    for (const [path] of loaded) delete load.cache[path]
    return Object.fromEntries(loaded)
  }
  const ofApplication = takeLoaded()
  try {
    return load(name) as Package
  } finally {
    takeLoaded()
    Object.assign(load.cache, ofApplication)
  }
}

function tooLongError(): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_UNSUPPORTED',
    `the package @bokuweb/zstd-wasm decompresses only objects of up to ${PACKAGE_BYTES} bytes: use Node 22.15 or newer`,
  )
}

/**
 * Throws unless `bytes` are a frame that has `length` bytes or does not state its length: the package allocates the
 * stated length.
 */
function checkFrame(bytes: Uint8Array, length: number): void {
  const header = Buffer.alloc(18)
  header.set(bytes.subarray(0, header.length))
  if (header.readUInt32LE(0) !== MAGIC) throw new Error('not a frame of zstd')
  const descriptor = header.readUInt8(4)
  const kind = descriptor >> 6
  const isSingle = (descriptor & 0x20) !== 0
  if (kind === 0 && !isSingle) return
  const at = (isSingle ? 5 : 6) + ([0, 1, 2, 4][descriptor & 3] as number)
  const stated = kind === 3 ? Number(header.readBigUInt64LE(at)) : header.readUIntLE(at, 2 ** kind)
  if (stated + (kind === 1 ? 256 : 0) !== length) throw new Error(`the frame does not hold ${length} bytes`)
}
