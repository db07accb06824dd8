/** The interface of a suite. */
import type { TableResult } from '../report/report.js'

export interface SuiteContext {
  /** A folder on the disk to measure; the suite makes its own below. */
  dir: string
  quick: boolean
  /** Include cases that take many gigabytes. */
  big: boolean
  /** Announces the number of steps and their name. */
  plan(label: string, steps: number): Promise<void>
  /** One step is done; may be called on its own. */
  readonly step: () => void
  /** A table is whole: shown at once, and part of the suite's result. */
  add(table: TableResult): Promise<void>
}

export interface Suite {
  name: string
  /** One line for `--help`. */
  summary: string
  title: string
  /** Measures; resolves to findings, in sentences. */
  run(context: SuiteContext): Promise<string[]>
}
