/** Memory that begins at a page, which O_DIRECT needs. A Buffer has no alignment that JavaScript can know. */

/** Block size of O_DIRECT reads and writes, and the page of a file that a buffered write completes at once. */
export const PAGE_BYTES = 4096
const WASM_PAGE_BYTES = 65_536

/** The part of `WebAssembly` that is used: the types of Node do not have it. */
interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}
declare const WebAssembly: { Memory: new (options: { initial: number }) => WasmMemory } | undefined

export class AlignedMemory {
  #memory: WasmMemory | undefined

  /** Page-aligned bytes, valid until the next call; undefined if this runtime has none. */
  take(bytes: number): Buffer | undefined {
    const pages = Math.ceil(bytes / WASM_PAGE_BYTES)
    try {
      if (this.#memory === undefined) {
        if (typeof WebAssembly === 'undefined') return undefined
        this.#memory = new WebAssembly.Memory({ initial: pages })
      }
      const missing = pages - this.#memory.buffer.byteLength / WASM_PAGE_BYTES
      if (missing > 0) this.#memory.grow(missing)
      return Buffer.from(this.#memory.buffer, 0, bytes)
    } catch {
      return undefined
    }
  }
}
