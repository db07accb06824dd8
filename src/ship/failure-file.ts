/**
 * The last failure of a shipper or an archiver, in the file `NAME.status` of the log's folder, where NAME is the name
 * of its cursor. `durlog ship --status` and `archive --status` read it. It is written after a failed attempt, and again
 * when an attempt has succeeded. A failure to write it is ignored, so that a folder may be read-only.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { takeOwner } from '../support/new-files.js'
import { rename } from '../support/rename.js'

/** Times are in milliseconds since 1970. */
export interface LastFailure {
  message: string
  /** The first of the consecutive failures. */
  sinceMs: number
  lastMs: number
  /** The number of consecutive failures. */
  attempts: number
  /** Whether the failure has stopped the shipper. */
  stopped: boolean
  /** The time of the next success; undefined before it. */
  endedMs?: number
}

export class FailureFile {
  readonly #path: string
  /** Undefined before the first read of the file. */
  #failure: Promise<LastFailure | undefined> | undefined

  constructor(dir: string, cursor: string) {
    this.#path = join(dir, `${cursor}.status`)
  }

  failed(error: Error, stopped = false): void {
    this.#change((before) => {
      const now = Date.now()
      const continues = before !== undefined && before.endedMs === undefined
      const { sinceMs, attempts } = continues ? before : { sinceMs: now, attempts: 0 }
      return { message: error.message, sinceMs, lastMs: now, attempts: attempts + 1, stopped }
    })
  }

  succeeded(): void {
    this.#change((before) =>
      before === undefined || before.endedMs !== undefined
        ? before
        : { ...before, stopped: false, endedMs: Date.now() },
    )
  }

  /** Resolves when the file has been written. */
  async settled(): Promise<void> {
    await this.#failure
  }

  #change(next: (before: LastFailure | undefined) => LastFailure | undefined): void {
    this.#failure = (this.#failure ?? readFailure(this.#path)).then(async (before) => {
      const after = next(before)
      if (after === before) return after
      try {
        await writeFile(`${this.#path}.new`, JSON.stringify(after))
        takeOwner(`${this.#path}.new`)
        await rename(`${this.#path}.new`, this.#path)
      } catch {
        // The status is not worth a failure.
      }
      return after
    })
  }
}

/** The last failure of the shipper or archiver that uses `cursor`; undefined if none is known. */
export function lastFailure(dir: string, cursor: string): Promise<LastFailure | undefined> {
  return readFailure(join(dir, `${cursor}.status`))
}

async function readFailure(path: string): Promise<LastFailure | undefined> {
  try {
    const found = Object(JSON.parse(await readFile(path, 'utf8'))) as LastFailure
    return typeof found.message === 'string' && [found.sinceMs, found.lastMs].every(Number.isFinite) ? found : undefined
  } catch {
    return undefined
  }
}
