/**
 * The chain of a fork: the fork, the stream that has the records before its own ones, the stream that has the records
 * before those, and so on. A chain may have thousands of streams, so nothing here walks all of it for one record.
 */

/** A stream that may be a fork. */
export interface Forkable<S extends Forkable<S>> {
  /** Undefined if the stream has all its records itself. */
  readonly chain: ForkChain<S> | undefined
  /** The seq of the first record that was appended to the stream itself. */
  readonly start: number
  readonly firstSeq: number
}

/** How often any stream with forks has lost its oldest records. */
let losses = 0

/** Must be called when a stream with forks has lost its oldest records. */
export function noteLoss(): void {
  losses++
}

export class ForkChain<S extends Forkable<S>> {
  /**
   * The next stream of the chain. It is the source of the fork, unless the fork has no records that were appended to
   * the source itself.
   */
  readonly base: S
  readonly depth: number
  /** A stream later in the chain. These make the chain a skip list, in which a search takes logarithmic time. */
  readonly jump: S
  /** The `firstSeq` of `base` when there were `#losses` losses. */
  #baseFirstSeq = 0
  #losses = -1

  /** The chain of a fork of `source` that begins with the records of `source` before `seq`. */
  constructor(source: S, seq: number) {
    const { owner: base } = holderOf(source, Math.max(seq - 1, 0))
    const near = jumpOf(base)
    const far = jumpOf(near)
    this.base = base
    this.depth = depthOf(base) + 1
    this.jump = depthOf(base) - depthOf(near) === depthOf(near) - depthOf(far) ? far : base
  }

  get baseFirstSeq(): number {
    // A loop, because a chain may be longer than the call stack allows.
    const outdated: ForkChain<S>[] = []
    for (let at: ForkChain<S> | undefined = this; at !== undefined && at.#losses !== losses; at = at.base.chain)
      outdated.push(at)
    for (const chain of outdated.reverse()) {
      chain.#losses = losses
      chain.#baseFirstSeq = chain.base.firstSeq
    }
    return this.#baseFirstSeq
  }
}

/**
 * Finds the stream to which the record `seq` of `state` was appended. `fork` is the stream before it in the chain,
 * which has the records of `owner` before `fork.start`; undefined if `owner` is `state`.
 */
export function holderOf<S extends Forkable<S>>(state: S, seq: number): { owner: S; fork: S | undefined } {
  let owner = state
  let fork: S | undefined
  while (owner.chain !== undefined && owner.start > seq) {
    fork = owner
    const jump = jumpOf(owner)
    owner = jump.start > seq ? jump : owner.chain.base
  }
  return { owner, fork }
}

function depthOf<S extends Forkable<S>>({ chain }: S): number {
  return chain?.depth ?? 0
}

function jumpOf<S extends Forkable<S>>(state: S): S {
  return state.chain?.jump ?? state
}
