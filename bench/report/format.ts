/** Formats figures, in the same way for the terminal, HTML and Markdown. */
import type { Figure, Row, TableResult } from './report.js'

const HEADS: Record<Figure, string> = {
  p50: 'p50 us',
  p90: 'p90 us',
  p99: 'p99 us',
  p999: 'p99.9 us',
  min: 'min us',
  max: 'max us',
  mean: 'avg us',
  stddev: 'stddev us',
  outlierShare: 'out%',
  opsPerSecond: 'ops/s',
  megabytesPerSecond: 'MB/s',
}

/** Formats a number with three significant digits; from 1000 on, as a whole number. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return ''
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits })
}

export function formatSize(bytes: number): string {
  if (bytes >= 2 ** 30) return `${bytes / 2 ** 30} GiB`
  if (bytes >= 2 ** 20) return `${bytes / 2 ** 20} MiB`
  return bytes >= 1024 && bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} B`
}

export interface Cells {
  head: string[]
  /** The number of columns at the left that are labels. */
  labelCount: number
  rows: string[][]
}

function figureCell(row: Row, figure: Figure): string {
  const value = row.summary?.[figure]
  if (value === undefined) return ''
  return figure === 'outlierShare' ? `${(value * 100).toFixed(1)}` : formatNumber(value)
}

function noteOf(row: Row): string {
  return row.note ?? ''
}

/** Returns the text of each cell of a table. Omits the columns `ratio` and `note` if they are empty. */
export function tableCells(table: TableResult): Cells {
  const extras = table.extras ?? []
  const head = [...table.labels, ...table.figures.map((figure) => HEADS[figure]), ...extras]
  const withRatio = table.ratioTo !== '' && table.rows.some((row) => row.ratio !== undefined)
  if (withRatio) head.push('ratio')
  const withNotes = table.rows.some((row) => row.note !== undefined)
  if (withNotes) head.push('note')
  const rows = table.rows.map((row) => {
    const cells = [...row.labels, ...table.figures.map((figure) => figureCell(row, figure))]
    extras.forEach((_, i) => {
      const value = row.extras?.[i]
      cells.push(typeof value === 'number' ? formatNumber(value) : (value ?? ''))
    })
    if (withRatio) cells.push(row.ratio === undefined ? '' : `${formatNumber(row.ratio)}x`)
    if (withNotes) cells.push(noteOf(row))
    return cells
  })
  return { head, labelCount: table.labels.length, rows }
}
