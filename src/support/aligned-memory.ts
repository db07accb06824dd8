/** Page-aligned memory, which O_DIRECT needs. JavaScript cannot find out how a Buffer is aligned. */

/**
 * The alignment of O_DIRECT reads and writes, and the size of a page of a file, which a buffered write completes at
 * once.
 */
export const PAGE_BYTES = 4096
const WASM_PAGE_BYTES = 65_536

/** The part of `WebAssembly` that is used here: Node's types do not have it. */
interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}
declare const WebAssembly: { Memory: new (options: { initial: number }) => WasmMemory } | undefined

export class AlignedMemory {
  #memory: WasmMemory | undefined

  /** Returns page-aligned memory, which is valid until the next call; undefined if the runtime cannot provide it. */
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
