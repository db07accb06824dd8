/** The results of a bench run as data, from which the terminal's output, JSON, HTML and docs/BENCHMARKS.md are made. */
import type { Machine } from '../harness/machine.js'
import type { OtherLoad } from '../harness/other-load.js'
import type { Summary } from '../harness/stats.js'

export const REPORT_VERSION = 1

export interface Row {
  /** One label for each column of `TableResult.labels`. */
  labels: string[]
  /** Whether the row is a raw system call in C++, and not durlog or an alternative. */
  baseline?: boolean
  summary?: Summary
  /** Figures that are not latencies: one value for each column of `TableResult.extras`. */
  extras?: (number | string)[]
  /** This row's figure divided by that of the row `ratioTo` in the same run. */
  ratio?: number
  /** The reason why there is no figure, or a limit of the figure. */
  note?: string
  /** The command line of fio that writes in the same way, if fio can. */
  fio?: string | undefined
}

/** A figure of a summary that a table can show. */
export type Figure =
  | 'p50'
  | 'p90'
  | 'p99'
  | 'p999'
  | 'min'
  | 'max'
  | 'mean'
  | 'stddev'
  | 'outlierShare'
  | 'opsPerSecond'
  | 'megabytesPerSecond'

export interface TableResult {
  title: string
  /**
   * The durability after which an operation of this table is complete. All rows of a table have the same durability.
   */
  durability: string
  labels: string[]
  figures: Figure[]
  extras?: string[]
  /** The row whose figure is the denominator of the ratios, as text; '' if there are no ratios. */
  ratioTo: string
  rows: Row[]
  /** The chart of this table; none by default. */
  chart?: 'latency' | 'throughput' | 'time'
  /** For a chart over `time`: for each row, the value in each interval of `intervalMs`. */
  series?: number[][]
  intervalMs?: number
}

export interface SuiteResult {
  name: string
  title: string
  tables: TableResult[]
  /** The findings as sentences. */
  findings: string[]
}

export interface Report {
  version: number
  durlog: string
  startedAt: string
  quick: boolean
  elapsedMs: number
  machine: Machine
  /** The load of other programs before the first suite; absent if the system does not report it. */
  otherLoad?: OtherLoad
  /** What limits all figures, as sentences. */
  notes: string[]
  suites: SuiteResult[]
}
