/** Formats the report for a terminal. */
import { formatWrapped, useColour } from '#terminal/output.js'
import { COLOURED, PLAIN, renderTable } from '#terminal/table.js'
import { type Machine, machineFields } from '../harness/machine.js'
import { fitTable } from './fit.js'
import { tableCells } from './format.js'
import type { Row, TableResult } from './report.js'

const BOLD = 1
const DIM = 2
const DEFAULT_COLUMNS = 80

function styled(text: string, code: number): string {
  return useColour() ? `\x1b[${code}m${text}\x1b[0m` : text
}

/**
 * Formats a table of at most `columns` columns of text, with its title, its durability, the baseline of its ratios and
 * its notes.
 */
export function formatResult(result: TableResult, columns: number = process.stdout.columns || DEFAULT_COLUMNS): string {
  const { head, labelCount, rows, omitted } = fitTable(
    tableCells({ ...result, rows: result.rows.map(withoutNote) }),
    columns,
  )
  const dim = (cell: string): string =>
    cell
      .split('\n')
      .map((line) => styled(line, DIM))
      .join('\n')
  const dimmed = rows.map((cells, i) => (result.rows[i]?.baseline === true ? cells.map(dim) : cells))
  const aligns = head.map((_, column) => (column < labelCount ? 'left' : 'right'))
  const table = renderTable(head, dimmed, aligns, useColour() ? COLOURED : PLAIN)
  const hasRatio = result.ratioTo !== '' && result.rows.some(({ ratio }) => ratio !== undefined)
  const ratio = hasRatio ? `; ratio to ${result.ratioTo}` : ''
  const notes = result.rows.flatMap(({ labels, note }) => (note ? [`${labels.join(', ')}: ${note}`] : []))
  if (omitted.length > 0) notes.push(`not shown in ${columns} columns: ${omitted.join('; ')}`)
  const below = notes.map((note) => paragraph(note, columns, DIM)).join('')
  return `\n${paragraph(result.title, columns, BOLD)}${paragraph(`${result.durability}${ratio}`, columns, DIM)}${table}\n${below}`
}

function withoutNote({ note: _, ...row }: Row): Row {
  return row
}

function paragraph(text: string, columns: number, code: number): string {
  const lines = formatWrapped('', text, columns).trimEnd().split('\n')
  return lines.map((line) => `${styled(line, code)}\n`).join('')
}

export function formatHeading(title: string): string {
  return `\n${styled(title, BOLD)}\n`
}

export function formatFindings(findings: readonly string[]): string {
  const columns = process.stdout.columns || DEFAULT_COLUMNS
  return findings.length === 0 ? '' : `\n${findings.map((finding) => formatWrapped('  ', finding, columns)).join('')}`
}

export function formatMachine(machine: Machine): string {
  const fields = machineFields(machine)
  const width = Math.max(...fields.map(([name]) => name.length))
  const columns = process.stdout.columns || DEFAULT_COLUMNS
  return fields.map(([name, text]) => formatWrapped(`${styled(name.padEnd(width), DIM)}  `, text, columns)).join('')
}
