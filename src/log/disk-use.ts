/** The disk space of an open log: its segments, and the spare files that will become segments. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ofFileSystem } from '../support/file-system-error.js'
import { isSpare, segmentSeq } from '../support/segment-name.js'

/** The fields of `stats` for which the folder is read. */
type CountedField = 'diskBytes' | 'segments'

export class DiskUse {
  readonly #dir: string
  /** The lengths of sealed segments, by name. */
  #sealed = new Map<string, number>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Adds `fields` as getters, so that only a caller that reads one of them pays for reading the folder. */
  addTo<T extends object, F extends CountedField>(stats: T, fields: readonly F[]): T & Readonly<Record<F, number>> {
    for (const field of fields) {
      Object.defineProperty(stats, field, { get: () => this[field], enumerable: true, configurable: true })
    }
    return stats as never
  }

  /** Reads the folder, and the file lengths that are not known yet. */
  get diskBytes(): number {
    return this.#inFolder((names) => this.#sum(names))
  }

  get segments(): number {
    return this.#inFolder((names) => names.filter(isSegment).length)
  }

  /**
   * Discards the cached lengths. Must be called after a cut of the log's end: a sealed segment may have become the
   * active one, or another file may have taken its name.
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
    for (const name of names) if (isSpare(name)) sum += this.#lengthOf(name)
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
