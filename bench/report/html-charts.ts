/** Charts as data, for uPlot in the page's script. */

import { CURVE_SHARES } from '../harness/stats.js'
import type { Row, TableResult } from './report.js'

interface Series {
  label: string
  /** Legible on white and on black. */
  colour: string
  dash?: number[]
  y: (number | null)[]
}

export interface Chart {
  xLabel: string
  yLabel: string
  log: boolean
  x: number[]
  /** Where the x axis has its marks, and their text. */
  ticks?: [number, string][]
  series: Series[]
}

const COLOURS = [
  '#e4572e',
  '#2e86de',
  '#27ae60',
  '#c49000',
  '#8e6bd8',
  '#d0449c',
  '#17a2a2',
  '#a5673f',
  '#6b8e23',
  '#e67e22',
  '#5d7fb9',
  '#b0413e',
]

/** A percentile's position is log10(1 / (1 - share)): each further nine takes the same width. */
function percentilePosition(share: number): number {
  return -Math.log10(1 - share)
}

const PERCENTILE_TICKS: [number, string][] = [0, 0.5, 0.9, 0.99, 0.999, 0.9999].map((share) => [
  percentilePosition(share),
  `${share * 100} %`,
])

function seriesOf(row: Row, index: number, y: (number | null)[]): Series {
  const series: Series = { label: row.labels.join(', '), colour: COLOURS[index % COLOURS.length] as string, y }
  return row.baseline ? { ...series, dash: [5, 4] } : series
}

function latencyChart(table: TableResult): Chart {
  const measured = table.rows.filter(({ summary }) => summary !== undefined)
  return {
    xLabel: 'percentile',
    yLabel: 'us',
    log: true,
    x: CURVE_SHARES.map(percentilePosition),
    ticks: PERCENTILE_TICKS,
    // A logarithmic axis has no zero.
    series: measured.map((row, i) => seriesOf(row, i, row.summary?.curve.map((us) => (us > 0 ? us : null)) ?? [])),
  }
}

function timeChart(table: TableResult): Chart {
  const longest = Math.max(0, ...(table.series ?? []).map((values) => values.length))
  const seconds = (table.intervalMs ?? 1000) / 1000
  return {
    xLabel: 'seconds',
    yLabel: 'IOPS',
    log: false,
    x: Array.from({ length: longest }, (_, i) => (i + 1) * seconds),
    series: table.rows.flatMap((row, i) => {
      const values = table.series?.[i] ?? []
      return values.length === 0 ? [] : [{ ...seriesOf(row, i, values), dash: [] }]
    }),
  }
}

/** The chart of a table, if it has one; throughputs are bars in the table itself. */
export function chartsOf(table: TableResult): Chart | undefined {
  if (table.chart === 'latency') return latencyChart(table)
  return table.chart === 'time' ? timeChart(table) : undefined
}
