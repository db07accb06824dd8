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
  return stripVTControlCharacters(text).length
}

/** Returns the table's lines, joined, without a newline at the end. Cells may contain colour codes. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  aligns: readonly Align[],
  style: TableStyle,
): string {
  const widths = head.map((text, column) =>
    Math.max(shownWidth(text), ...rows.map((row) => shownWidth(row[column] ?? ''))),
  )
  const pad = (text: string, column: number): string => {
    const blanks = ' '.repeat((widths[column] as number) - shownWidth(text))
    return aligns[column] === 'right' ? ` ${blanks}${text} ` : ` ${text}${blanks} `
  }
  const rule = (left: string, middle: string, right: string): string =>
    style.line(`${left}${widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}`)
  const bar = style.line('│')
  const body = rows.map((row) => `${bar}${widths.map((_, i) => pad(row[i] ?? '', i)).join(bar)}${bar}`)
  const titles = `${bar}${head.map((text, i) => style.heading(pad(text, i))).join(bar)}${bar}`
  return [rule('┌', '┬', '┐'), titles, rule('├', '┼', '┤'), ...body, rule('└', '┴', '┘')].join('\n')
}
