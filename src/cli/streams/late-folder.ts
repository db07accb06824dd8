import { isCode } from '../../errors.js'
import type { Folder } from '../../streams/api/folder.js'
import { joinStreams } from '../../streams/api/open-streams.js'

/** A folder of streams that is created once the first record is known to be valid: a wrong input leaves none behind. */
export class LateFolder implements AsyncDisposable {
  readonly #dir: string
  #folder: Folder<unknown> | undefined

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The folder; undefined if there is none. */
  async found(): Promise<Folder<unknown> | undefined> {
    try {
      return await this.#open(false)
    } catch (error) {
      if (isCode(error, 'ERR_DURLOG_NOT_FOUND')) return undefined
      throw error
    }
  }

  /** The folder, which is created if there is none. */
  made(): Promise<Folder<unknown>> {
    return this.#open(true)
  }

  async #open(create: boolean): Promise<Folder<unknown>> {
    this.#folder ??= await joinStreams(this.#dir, { create })
    return this.#folder
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder?.close()
  }
}
