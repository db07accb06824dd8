/**
 * A map of many names, as several maps. One `Map` blocks the event loop while it grows, because it moves all of its
 * entries at once: 65,536 take 4 to 7 ms.
 */

/** A power of two. */
const PARTS = 64

export class NameMap<Value> {
  readonly #parts = Array.from({ length: PARTS }, () => new Map<string, Value>())
  #size = 0

  get size(): number {
    return this.#size
  }

  has(name: string): boolean {
    return this.#partOf(name).has(name)
  }

  get(name: string): Value | undefined {
    return this.#partOf(name).get(name)
  }

  set(name: string, value: Value): void {
    const part = this.#partOf(name)
    const { size } = part
    part.set(name, value)
    this.#size += part.size - size
  }

  delete(name: string): void {
    if (this.#partOf(name).delete(name)) this.#size--
  }

  clear(): void {
    for (const part of this.#parts) part.clear()
    this.#size = 0
  }

  /** In no order. The map may be changed meanwhile. */
  *[Symbol.iterator](): Generator<[string, Value], void, undefined> {
    for (const part of this.#parts) yield* part
  }

  #partOf(name: string): Map<string, Value> {
    let hash = 0
    for (let at = 0; at < name.length; at++) hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0
    return this.#parts[(hash ^ (hash >>> 15)) & (PARTS - 1)] as Map<string, Value>
  }
}
