/** The addon's interface for named cursors, and for the cuts of a log. */

/** The checksum of the record before `position`, which the cursor has passed. */
export interface CursorProof {
  position: number
  checksum: number
}

/** A named cursor that this process owns. Only one call of `sync` or `place` may run at a time. */
export interface NativeDurableCursor {
  /** The seq of the next record to read; -1 before the first `place` of a new one. Throws if the file is damaged. */
  position(): number
  /**
   * Finds the cuts since the cursor's generation that removed records before the position or before `reached`. Returns
   * the log's next seq right after the deepest of them; Infinity if there is none. Reads one small file.
   */
  findCut(reached: number): number
  /** The generation of the newest cut, which may be in progress. Reads the same file as `findCut`. */
  newestGeneration(): number
  /** As `newestGeneration`, without a cut in progress. For `place`: read it before choosing the position. */
  currentGeneration(): number
  /** Moves the position forward, at level `memory`. Records below `syncedEnd` are synced. */
  commit(position: number, syncedEnd: number): void
  /** Syncs the position. Resolves with the lowest position that the file can have after a power cut. */
  sync(syncedEnd: number, full: boolean): Promise<number>
  /** Moves the position forwards or backwards, durably. `checksum` is that of the record before it, if it is known. */
  place(position: number, syncedEnd: number, generation: number, checksum: number | undefined): Promise<void>
  /** The proof that was stored last. */
  proof(): CursorProof | undefined
  /** Stores a proof, at level `memory` and with the next `sync`, unless it is after the cursor's position. */
  prove(position: number, checksum: number): void
  /**
   * The cursor exists from now on: `ensureCursor` of other owners may rely on it. Stores the position if no owner has
   * done so.
   */
  confirm(): void
  /** The creation of this new cursor has failed: `close` removes its file. */
  discard(): void
  close(): void
}

/** A file lock that this process holds: that of writers or that of trims, see docs/FORMAT.md. */
export interface NativeFileLock {
  release(): void
}

export interface NativeCursorSummary {
  name: string
  /** Absent if the file is damaged. */
  position?: number
  /** The log's next seq after the deepest cut below the position; absent if there is no such cut. */
  cut?: number
  /** At or before the position. */
  proof: CursorProof | undefined
  /** Whether its creation has ended. False for a cursor of another log or of a newer version. */
  confirmed: boolean
  owned: boolean
  /** 0 if unknown. */
  ownerPid: number
}

export interface NativeCuts {
  uuid: string
  /** The log's generation; -1 if its list of cuts is damaged. */
  generation: number
  /** The log's next seq after the deepest cut since the requested generation; -1 if there is none. */
  lowest: number
}
