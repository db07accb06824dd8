/** Ends a checkpoint at a step. */

export class Steps {
  /** The next checkpoint ends at its step of this number. */
  limit = Number.POSITIVE_INFINITY
  taken = 0
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
