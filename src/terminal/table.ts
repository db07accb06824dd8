/** Renders a table with lines around its cells. */
import { stripVTControlCharacters } from 'node:util'

export interface TableStyle {
  /** Adds the colour of headings to `text`, or returns it unchanged. */
  heading(text: string): string
  line(text: string): string
}

export type Align = 'left' | 'right'

const GREY = 90
const CYAN = 36

export const PLAIN: TableStyle = { heading: (text) => text, line: (text) => text }
export const COLOURED: TableStyle = {
  heading: (text) => `\x1b[${CYAN}m${text}\x1b[39m`,
  line: (text) => `\x1b[${GREY}m${text}\x1b[39m`,
}

function shownWidth(text: string): number {
  return Math.max(...text.split('\n').map((line) => stripVTControlCharacters(line).length))
}

function columnWidth(column: number, head: readonly string[], rows: readonly (readonly string[])[]): number {
  return Math.max(shownWidth(head[column] ?? ''), ...rows.map((row) => shownWidth(row[column] ?? '')))
}

/** The width of the table that `renderTable` makes. */
export function tableWidth(head: readonly string[], rows: readonly (readonly string[])[]): number {
  return head.reduce((width, _, column) => width + columnWidth(column, head, rows) + 3, 1)
}

/**
 * Returns the table's lines, joined, without a newline at the end. Cells may contain colour codes and several lines.
 */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  aligns: readonly Align[],
  style: TableStyle,
): string {
  const widths = head.map((_, column) => columnWidth(column, head, rows))
  const pad = (text: string, column: number): string => {
    const blanks = ' '.repeat((widths[column] as number) - shownWidth(text))
    return aligns[column] === 'right' ? ` ${blanks}${text} ` : ` ${text}${blanks} `
  }
  const rule = (left: string, middle: string, right: string): string =>
    style.line(`${left}${widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}`)
  const bar = style.line('│')
  const lines = (row: readonly string[], styled: (text: string) => string): string[] => {
    const cells = widths.map((_, column) => (row[column] ?? '').split('\n'))
    const height = Math.max(...cells.map((cell) => cell.length))
    return Array.from({ length: height }, (_, line) => {
      const parts = cells.map((cell, column) => styled(pad(cell[line] ?? '', column)))
      return `${bar}${parts.join(bar)}${bar}`
    })
  }
  const titles = lines(head, (text) => style.heading(text))
  const body = rows.flatMap((row) => lines(row, (text) => text))
  return [rule('┌', '┬', '┐'), ...titles, rule('├', '┼', '┤'), ...body, rule('└', '┴', '┘')].join('\n')
}
