/** Finds the cuts that other writers make after a log was closed here, while readers still deliver its records. */
import { LIVE_FIELD_COUNT, LiveField, type NativeLivePage } from '../native/reading.js'

export class LaterCuts {
  readonly #fields = new Float64Array(LIVE_FIELD_COUNT)
  /** Undefined until the log is closed, and once it has no more readers. */
  #page: NativeLivePage | undefined
  #readers = 0

  /** Notes a reader. Returns a function to call when the reader delivers no more records; later calls do nothing. */
  hold(): () => void {
    this.#readers++
    let holds = true
    return () => {
      if (!holds) return
      holds = false
      this.#readers--
      this.#closeIfUnused()
    }
  }

  /**
   * The log is being closed: finds the cuts from now on. `openPage` returns the log's live page, which is closed here.
   */
  begin(openPage: () => NativeLivePage): void {
    this.#page = openPage()
    this.take()
    this.#closeIfUnused()
  }

  /**
   * The log's next seq after the deepest cut since the previous call; Infinity if there was none, or before `begin`.
   */
  take(): number {
    if (this.#page === undefined) return Number.POSITIVE_INFINITY
    this.#page.look(this.#fields)
    return this.#fields[LiveField.cut] as number
  }

  get hasReaders(): boolean {
    return this.#readers > 0
  }

  #closeIfUnused(): void {
    if (this.#readers > 0) return
    this.#page?.close()
    this.#page = undefined
  }
}
