/** The interface of a suite. */
import type { TableResult } from '../report/report.js'

export interface SuiteContext {
  /** A folder on the disk to measure, in which the suite creates its own folders. */
  dir: string
  quick: boolean
  /** Whether to include cases that write many gigabytes. */
  big: boolean
  /**
   * Looks at the load of other programs. Returns what would make figures invalid, at the start of the bench and now.
   */
  disturbances(): Promise<string[]>
  /** Announces the number of steps and their name. */
  plan(label: string, steps: number): Promise<void>
  /** Reports that a step is complete. Can be passed as a callback. */
  readonly step: () => void
  /** Adds a complete table to the suite's result and shows it at once. */
  add(table: TableResult): Promise<void>
}

export interface Suite {
  name: string
  /** One line for `--help`. */
  summary: string
  title: string
  /** Measures, and resolves to the findings as sentences. */
  run(context: SuiteContext): Promise<string[]>
}
