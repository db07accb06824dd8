/** What to use on this disk, from what was measured on it. */
import { formatNumber } from './format.js'
import type { Row, TableResult } from './report.js'

/** `auto` this much slower than the best explicit choice is worth telling. */
const TOLERANCE = 1.15

interface Best {
  row: Row
  auto: Row | undefined
}

function bestOf(table: TableResult, cost: (row: Row) => number): Best | undefined {
  const measured = table.rows.filter((row) => row.baseline !== true && row.summary !== undefined)
  const auto = measured.find(({ labels }) => labels[0] === 'auto')
  const explicit = measured.filter((row) => row !== auto)
  explicit.sort((a, b) => cost(a) - cost(b))
  const row = explicit[0]
  return row && { row, auto }
}

function nameOf({ labels: [strategy, preallocate] }: Row): string {
  return `strategy "${strategy}" with preallocate "${preallocate}"`
}

function sentence(subject: string, best: Best, cost: (row: Row) => number, told: (row: Row) => string): string {
  const { row, auto } = best
  const start = `${subject}: ${nameOf(row)} is best, ${told(row)}`
  if (auto === undefined) return `${start}.`
  const factor = cost(auto) / cost(row)
  const verdict =
    factor <= TOLERANCE
      ? 'leave strategy and preallocate at "auto"'
      : `"auto" is ${formatNumber(factor)}x that here: ask for the best by name`
  return `${start}; auto took ${auto.note || 'its own choice'}, ${told(auto)}: ${verdict}.`
}

/** Sentences: for durable appends one at a time, and for what only has to reach memory. */
export function recommend(tables: readonly TableResult[]): string[] {
  const findings: string[] = []
  const perOperation = (row: Row): number => 1e9 / (row.summary?.opsPerSecond ?? 0)
  const p50 = (row: Row): number => row.summary?.p50 ?? Number.NaN
  for (const table of tables) {
    if (table.title.startsWith('sync,')) {
      const best = bestOf(table, p50)
      if (best) {
        const told = (row: Row): string =>
          `p50 ${formatNumber(p50(row))} us${row.ratio === undefined ? '' : ` (${formatNumber(row.ratio)}x the raw calls)`}`
        findings.push(sentence(`Durable appends (${table.title})`, best, p50, told))
      }
    }
    if (table.title.startsWith('memory,')) {
      const best = bestOf(table, perOperation)
      const told = (row: Row): string => `${formatNumber(perOperation(row))} ns each`
      if (best) findings.push(sentence(`Memory writes (${table.title})`, best, perOperation, told))
    }
  }
  return findings
}
