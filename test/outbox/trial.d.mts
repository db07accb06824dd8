export interface Outbox {
  problems: string[]
  /** The last seq that was acknowledged, and the last that was seen. */
  acknowledged: number
  seen: number
  /** Records that were seen again. */
  again: number
  /** The most that the log took at any moment, and its bound. */
  mostBytes: number
  maxBytes: number
  /** Where the log begins at the end. */
  firstSeq: number
}

export declare function runOutbox(options: { dir: string; kills: number; seed: number }): Promise<Outbox>
