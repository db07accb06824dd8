/** What the files of an open log take: its segments, and the files that are going to be segments. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'

const SEGMENT = /^\d{20}\.seg$/
const SPARE = /^spare-[0-9a-f]{16}$/

export class DiskUse {
  readonly #dir: string
  /** Lengths of segments that are full. */
  #sealed = new Map<string, number>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Reads the folder, and the lengths that it does not know yet. */
  bytes(): number {
    return this.#inFolder((names) => this.#sum(names))
  }

  /** How many segments there are. */
  segments(): number {
    return this.#inFolder((names) => names.filter((name) => SEGMENT.test(name)).length)
  }

  /** The log's end was cut: a segment that was full may be appended to again, or have another file. */
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

  /** 0 for a file that has gone meanwhile. */
  #lengthOf(name: string): number {
    return statSync(join(this.#dir, name), { throwIfNoEntry: false })?.size ?? 0
  }
}
