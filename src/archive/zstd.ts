/**
 * Compression with zstd (RFC 8878): by node:zlib, which has it from Node 22.15 on, or by the package @bokuweb/zstd-wasm, an
 * optional peer dependency.
 */
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { DurlogError } from '../errors.js'

// Not a literal in import(): a bundler would then fail if the package is not installed.
const PACKAGE: string = '@bokuweb/zstd-wasm'

export interface Zstd {
  /** Compresses in the calling thread. */
  compress(bytes: Uint8Array): Uint8Array
  /** Rejects if the result would be longer than `length`, or if `bytes` are damaged. */
  decompress(bytes: Uint8Array, length: number): Promise<Uint8Array>
}

/** The functions of node:zlib that the types of Node 20 do not have. */
interface ZlibZstd {
  zstdCompressSync?: (bytes: Uint8Array) => Buffer
  zstdDecompress?: (
    bytes: Uint8Array,
    options: { maxOutputLength: number },
    done: (error: Error | null, result: Buffer) => void,
  ) => void
}

let loaded: Promise<Zstd> | undefined

/** Rejects with ERR_DURLOG_UNSUPPORTED if neither is available. */
export function loadZstd(): Promise<Zstd> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<Zstd> {
  const { zstdCompressSync, zstdDecompress } = zlib as ZlibZstd
  if (zstdCompressSync === undefined || zstdDecompress === undefined) return await loadPackage()
  const decompress = promisify(zstdDecompress)
  return {
    compress: (bytes) => zstdCompressSync(bytes),
    decompress: (bytes, maxOutputLength) => decompress(bytes, { maxOutputLength }),
  }
}

async function loadPackage(): Promise<Zstd> {
  try {
    const { init, compress, decompress } = (await import(PACKAGE)) as typeof import('@bokuweb/zstd-wasm')
    await init()
    return {
      compress: (bytes) => compress(bytes as Buffer),
      decompress: async (bytes, defaultHeapSize) => decompress(bytes as Buffer, { defaultHeapSize }),
    }
  } catch (cause) {
    throw new DurlogError(
      'ERR_DURLOG_UNSUPPORTED',
      `zstd needs Node 22.15 or newer, or the package @bokuweb/zstd-wasm: npm install @bokuweb/zstd-wasm (${(cause as Error).message.split('\n', 1)[0]})`,
      { cause },
    )
  }
}
