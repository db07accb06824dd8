/** Formats the report for a terminal. */
import { useColour } from '#terminal/output.js'
import { COLOURED, PLAIN, renderTable } from '#terminal/table.js'
import { type Machine, machineFields } from '../harness/machine.js'
import { tableCells } from './format.js'
import type { TableResult } from './report.js'

const BOLD = 1
const DIM = 2

function styled(text: string, code: number): string {
  return useColour() ? `\x1b[${code}m${text}\x1b[0m` : text
}

/** Formats a table with its title, its durability and the baseline of its ratios. */
export function formatResult(result: TableResult): string {
  const { head, labelCount, rows } = tableCells(result)
  const dimmed = rows.map((cells, i) =>
    result.rows[i]?.baseline === true ? cells.map((cell) => styled(cell, DIM)) : cells,
  )
  const aligns = head.map((name, column) => (column < labelCount || name === 'note' ? 'left' : 'right'))
  const table = renderTable(head, dimmed, aligns, useColour() ? COLOURED : PLAIN)
  const ratio = result.ratioTo === '' ? '' : `; ratio to ${result.ratioTo}`
  return `\n${styled(result.title, BOLD)}\n${styled(`${result.durability}${ratio}`, DIM)}\n${table}\n`
}

export function formatHeading(title: string): string {
  return `\n${styled(title, BOLD)}\n`
}

export function formatFindings(findings: readonly string[]): string {
  return findings.length === 0 ? '' : `\n${findings.map((finding) => `  ${finding}\n`).join('')}`
}

export function formatMachine(machine: Machine): string {
  const fields = machineFields(machine)
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields.map(([name, text]) => `${styled(name.padEnd(width), DIM)}  ${text}\n`).join('')
}
