/** The results of a bench run, as data: the terminal, JSON, HTML and docs/BENCHMARKS.md are made from it. */
import type { Machine } from '../harness/machine.js'
import type { Summary } from '../harness/stats.js'

export const REPORT_VERSION = 1

export interface Row {
  /** By column of `TableResult.labels`. */
  labels: string[]
  /** A raw system call in C++, not durlog and not a peer. */
  baseline?: boolean
  summary?: Summary
  /** Figures that are not latencies, by column of `TableResult.extras`; numbers are shown with their column's unit. */
  extras?: (number | string)[]
  /** This row's figure over that of the baseline `ratioTo` in the same run. */
  ratio?: number
  /** Why there is no figure, or what limits it. */
  note?: string
}

/** Which of a summary's figures a table shows. */
export type Figure =
  | 'p50'
  | 'p90'
  | 'p99'
  | 'min'
  | 'max'
  | 'mean'
  | 'stddev'
  | 'outlierShare'
  | 'opsPerSecond'
  | 'megabytesPerSecond'

export interface TableResult {
  title: string
  /** The durability at which an operation of this table counts. Rows of different durability never share a table. */
  durability: string
  labels: string[]
  figures: Figure[]
  extras?: string[]
  /** The row whose figure is the ratios' denominator; '' if there are no ratios. */
  ratioTo: string
  rows: Row[]
  /** The chart of this table; none by default. */
  chart?: 'latency' | 'throughput' | 'time'
  /** For `time`: a value for each interval of `intervalMs`, by row. */
  series?: number[][]
  intervalMs?: number
}

export interface SuiteResult {
  name: string
  title: string
  tables: TableResult[]
  /** Findings, in sentences. */
  findings: string[]
}

export interface Report {
  version: number
  durlog: string
  startedAt: string
  quick: boolean
  elapsedMs: number
  machine: Machine
  suites: SuiteResult[]
}
