/** The disk space of an open log: its segments and the files that will become segments. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'

const SEGMENT = /^\d{20}\.seg$/
const SPARE = /^spare-[0-9a-f]{16}$/

export class DiskUse {
  readonly #dir: string
  /** The lengths of full segments. */
  #sealed = new Map<string, number>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Adds `diskBytes` as a getter: a caller that reads another field of `stats` in a loop does not pay for this one. */
  addTo<T extends object>(stats: T): T & { readonly diskBytes: number } {
    const bytes = (): number => this.#bytes()
    return Object.defineProperty(stats, 'diskBytes', { get: bytes, enumerable: true, configurable: true }) as never
  }

  /** Reads the folder, and the file lengths that are not known yet. */
  #bytes(): number {
    return this.#inFolder((names) => this.#sum(names))
  }

  /** How many segments there are. */
  segments(): number {
    return this.#inFolder((names) => names.filter((name) => SEGMENT.test(name)).length)
  }

  /**
   * Call it after a cut of the log's end: a segment that was full may be appended to again, or may have another file.
   */
  forget(): void {
    this.#sealed = new Map()
  }

  #inFolder<T>(look: (names: string[]) => T): T {
    try {
      return look(readdirSync(this.#dir))
    } catch (error) {
      throw ofFileSystem(error)
    }
  }

  #sum(names: string[]): number {
    const segments = names.filter((name) => SEGMENT.test(name)).sort()
    const active = segments.pop()
    const sealed = new Map(segments.map((name) => [name, this.#sealed.get(name) ?? this.#lengthOf(name)]))
    this.#sealed = sealed
    let sum = active === undefined ? 0 : this.#lengthOf(active)
    for (const bytes of sealed.values()) sum += bytes
    for (const name of names) if (SPARE.test(name)) sum += this.#lengthOf(name)
    return sum
  }

  /** 0 for a file that was removed meanwhile. */
  #lengthOf(name: string): number {
    return statSync(join(this.#dir, name), { throwIfNoEntry: false })?.size ?? 0
  }
}
