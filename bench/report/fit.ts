/** Fits a table into the width of a terminal. */
import { tableWidth } from '#terminal/table.js'
import type { Cells } from './format.js'

/** The columns that a narrow terminal does not show, the least important first. */
const OMITTED_FIRST: readonly RegExp[] = [
  /^stddev us$/,
  /^out%$/,
  /^MB\/s/,
  /^min us$/,
  /^avg us$/,
  /^p90 us$/,
  /^max us$/,
  /^p99\.9 us$/,
  /^IOPS, first/,
  /^ops\/s$/,
]
const LABEL_COLUMNS = 34

/** Breaks `text` at blanks into lines of at most `columns` characters. A word that is longer keeps its length. */
export function breakAtBlanks(text: string, columns: number): string {
  const lines: string[] = []
  for (const word of text.split(/[ \n]/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}

export interface Fitted extends Cells {
  /** The names of the columns that were omitted. */
  omitted: string[]
}

function without(cells: Fitted, column: number): Fitted {
  const rest = (row: readonly string[]): string[] => row.filter((_, i) => i !== column)
  const omitted = [...cells.omitted, (cells.head[column] ?? '').replaceAll('\n', ' ')]
  return { ...cells, head: rest(cells.head), rows: cells.rows.map(rest), omitted }
}

function withBrokenHeads({ head, rows, ...more }: Fitted): Fitted {
  const broken = head.map((text, i) => {
    const widest = Math.max(0, ...rows.map((row) => row[i]?.length ?? 0))
    return breakAtBlanks(text, widest)
  })
  return { head: broken, rows, ...more }
}

function withBrokenLabels(cells: Fitted, columns: number): Fitted {
  const broken = (text: string, i: number): string => (i < cells.labelCount ? breakAtBlanks(text, columns) : text)
  return { ...cells, rows: cells.rows.map((row) => row.map(broken)) }
}

/** Breaks headings and labels into lines and omits columns until the table has at most `columns` columns of text. */
export function fitTable(cells: Cells, columns: number): Fitted {
  const whole = { ...cells, omitted: [] }
  const isWide = ({ head, rows }: Fitted): boolean => tableWidth(head, rows) > columns
  if (!isWide(whole)) return whole
  let fitted = withBrokenHeads(withBrokenLabels(whole, LABEL_COLUMNS))
  for (const name of OMITTED_FIRST) {
    const column = fitted.head.findIndex((head, i) => i >= cells.labelCount && name.test(head.replaceAll('\n', ' ')))
    if (column !== -1 && isWide(fitted)) fitted = without(fitted, column)
  }
  if (isWide(fitted)) {
    const labels = fitted.rows.flatMap((row) => row.slice(0, cells.labelCount))
    const widest = Math.max(...labels.flatMap((label) => label.split('\n').map((line) => line.length)))
    const excess = tableWidth(fitted.head, fitted.rows) - columns
    fitted = withBrokenLabels(fitted, widest - excess)
  }
  return fitted
}
