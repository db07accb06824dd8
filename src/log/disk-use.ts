/** The disk space of an open log: its segments, and the spare files that will become segments. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ofFileSystem } from '../file-system-error.js'
import { segmentSeq } from '../segment-name.js'

const SPARE = /^spare-[0-9a-f]{16}$/

export class DiskUse {
  readonly #dir: string
  /** The lengths of sealed segments, by name. */
  #sealed = new Map<string, number>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Adds `diskBytes` as a getter, so that only a caller that reads this field of `stats` pays for reading the folder. */
  addTo<T extends object>(stats: T): T & { readonly diskBytes: number } {
    const bytes = (): number => this.#bytes()
    return Object.defineProperty(stats, 'diskBytes', { get: bytes, enumerable: true, configurable: true }) as never
  }

  /** As `addTo`, for the count of segments: no member of a shared log counts the segments that others add and remove. */
  addSegmentsTo<T extends object>(stats: T): T & { readonly segments: number } {
    const segments = (): number => this.segments()
    return Object.defineProperty(stats, 'segments', { get: segments, enumerable: true, configurable: true }) as never
  }

  /** Reads the folder, and the file lengths that are not known yet. */
  #bytes(): number {
    return this.#inFolder((names) => this.#sum(names))
  }

  /** The number of segments. Reads the folder. */
  segments(): number {
    return this.#inFolder((names) => names.filter(isSegment).length)
  }

  /**
   * Discards the cached lengths. Must be called after a cut of the log's end: a sealed segment may have become the active one,
   * or another file may have taken its name.
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
    const segments = names.filter(isSegment).sort()
    const active = segments.pop()
    const sealed = new Map(segments.map((name) => [name, this.#sealed.get(name) ?? this.#lengthOf(name)]))
    this.#sealed = sealed
    let sum = active === undefined ? 0 : this.#lengthOf(active)
    for (const bytes of sealed.values()) sum += bytes
    for (const name of names) if (SPARE.test(name)) sum += this.#lengthOf(name)
    return sum
  }

  /** The file's length; 0 if it was removed after the folder was read. */
  #lengthOf(name: string): number {
    return statSync(join(this.#dir, name), { throwIfNoEntry: false })?.size ?? 0
  }
}

function isSegment(name: string): boolean {
  return segmentSeq(name) !== undefined
}
