/** Ends a checkpoint at a given step. */

export class Steps {
  /** The number of the step at which the next checkpoint ends. */
  limit = Number.POSITIVE_INFINITY
  /** The number of steps taken since `reset`. */
  taken = 0
  /** Called before the first step. */
  onFirst: () => void = () => {}
  /** Called before each step with its name. */
  onStep: (name: string) => void = () => {}

  readonly hooks = {
    onStep: (name: string): void => {
      if (this.taken++ === 0) this.onFirst()
      this.onStep(name)
      if (this.taken >= this.limit) throw new Error('the checkpoint ends here')
    },
    stepLimit: (): number => Math.max(this.limit - this.taken - 1, 0),
  }

  reset(limit: number, onFirst: () => void = () => {}): void {
    this.limit = limit
    this.taken = 0
    this.onFirst = onFirst
  }
}
