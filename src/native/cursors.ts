/** Named cursors, and the cuts of a log. */

/** A named cursor that this process owns. `sync` and `place` one at a time. */
export interface NativeDurableCursor {
  /** The seq of the next record to read; -1 before the first `place` of a new one. Throws if the file is damaged. */
  position(): number
  /**
   * Compares the position, and `reached` if that is higher, with the cuts since then. Returns the log's next seq right
   * after the deepest cut below them, or Infinity if there is none. Reads one small file.
   */
  findCut(reached: number): number
  /** The generation for `place`: the caller that chooses the position knows the cuts up to it. Reads the same file. */
  newestGeneration(): number
  /** Moves forward, in memory. Records below `syncedEnd` are synced. */
  commit(position: number, syncedEnd: number): void
  /** Settles with the lowest position that a power cut can leave. */
  sync(syncedEnd: number, full: boolean): Promise<number>
  /** Moves both ways, durably. */
  place(position: number, syncedEnd: number, generation: number): Promise<void>
  close(): void
}

export interface NativeCursorSummary {
  name: string
  /** Absent if the file is damaged. */
  position?: number
  /** The log was cut to end before it, below the position. */
  cut?: number
  owned: boolean
  /** 0 if unknown. */
  ownerPid: number
}

export interface NativeCuts {
  uuid: string
  /** Of the log; -1 if its list of cuts is damaged. */
  generation: number
  /** The log's next seq after the deepest of its cuts since the generation that was asked for; -1 without any. */
  lowest: number
}
