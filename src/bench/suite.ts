/** What every suite is made of. */
import type { SuiteResult } from './report.js'

export interface SuiteContext {
  /** A folder on the disk to measure; the suite makes its own below. */
  dir: string
  quick: boolean
  /** Also what takes many gigabytes. */
  big: boolean
  /** Says how many steps there will be and what they are about. */
  plan(label: string, steps: number): Promise<void>
  /** One step is done. */
  step(): void
}

export interface Suite {
  name: string
  /** One line for `--help`. */
  summary: string
  run(context: SuiteContext): Promise<SuiteResult>
}
