/** The data of charts, which the page's script draws with uPlot. */

import { CURVE_SHARES } from '../harness/stats.js'
import type { Row, TableResult } from './report.js'

interface Series {
  label: string
  /** A colour that is legible on white and on black. */
  colour: string
  dash?: number[]
  y: (number | null)[]
}

export interface Chart {
  xLabel: string
  yLabel: string
  log: boolean
  x: number[]
  /** The positions and texts of the marks on the x axis. */
  ticks?: [number, string][]
  series: Series[]
}

/**
 * The colours of the lines. Each colour is as far as possible from the previous ones in OKLab, with a contrast of 3 to
 * white and of 2.6 to the dark page. There are a few more colours than the largest table has rows.
 */
const COLOURS: readonly string[] = (
  '#f04a15 #1e51d5 #148922 #c065f0 #923f65 #1899c5 #9d8b5a #266b76 #9142d0 #db388c ' +
  '#5573ff #85709c #a65b21 #3d650e #c50124 #d2748a #63a017 #4a8877 #65509d #978dbd ' +
  '#ac1f95 #2877b3 #b4596f #765b30 #7a821c #8784f9 #b359bc #25a37e'
).split(' ')

/** The position of a percentile on the x axis is log10(1 / (1 - share)): each further nine takes the same width. */
function percentilePosition(share: number): number {
  return -Math.log10(1 - share)
}

const PERCENTILE_TICKS: [number, string][] = [0, 0.5, 0.9, 0.99, 0.999, 0.9999].map((share) => [
  percentilePosition(share),
  `${share * 100} %`,
])

function seriesOf(row: Row, index: number, y: (number | null)[]): Series {
  const series: Series = { label: row.labels.join(', '), colour: COLOURS[index] as string, y }
  return row.baseline ? { ...series, dash: [5, 4] } : series
}

function latencyChart(table: TableResult): Chart {
  // A chart has at most one line for each colour; the table has all rows.
  const measured = table.rows.filter(({ summary }) => summary !== undefined).slice(0, COLOURS.length)
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
    series: table.rows.slice(0, COLOURS.length).flatMap((row, i) => {
      const values = table.series?.[i] ?? []
      return values.length === 0 ? [] : [{ ...seriesOf(row, i, values), dash: [] }]
    }),
  }
}

/** Returns the chart of a table; undefined if it has none. Throughputs are shown as bars in the table instead. */
export function chartsOf(table: TableResult): Chart | undefined {
  if (table.chart === 'latency') return latencyChart(table)
  return table.chart === 'time' ? timeChart(table) : undefined
}
