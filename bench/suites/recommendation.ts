/** Recommends a strategy for this disk, from its measurements. */

import type { Summary } from '../harness/stats.js'
import { formatNumber } from '../report/format.js'
import type { Row, TableResult } from '../report/report.js'

/** If `auto` is slower than the best explicit choice by more than this factor, the finding reports it. */
const TOLERANCE = 1.15

/** The figure by which a table is judged. Less is better. */
interface Criterion {
  subject: string
  cost: (figures: Pick<Summary, 'p50' | 'opsPerSecond'>) => number
  told: (row: Row) => string
}

const DURABLE: Criterion = {
  subject: 'Durable appends',
  cost: ({ p50 }) => p50,
  told: ({ summary, ratio }) => {
    const times = ratio === undefined ? '' : ` (${formatNumber(ratio)}x the raw calls)`
    return `p50 ${formatNumber(summary?.p50 ?? Number.NaN)} us${times}`
  },
}

const MEMORY: Criterion = {
  subject: 'Memory writes',
  cost: ({ opsPerSecond }) => 1e9 / opsPerSecond,
  told: ({ summary }) => `${formatNumber(1e9 / (summary?.opsPerSecond ?? Number.NaN))} ns each`,
}

function costOf(row: Row, { cost }: Criterion): number {
  return row.summary === undefined ? Number.NaN : cost(row.summary)
}

/** Whether every round of `slower` was slower than every round of `faster`. If not, the difference may be noise. */
function isSlowerThroughout(slower: Row, faster: Row, { cost }: Criterion): boolean {
  const slow = (slower.summary?.rounds ?? []).map(cost)
  const fast = (faster.summary?.rounds ?? []).map(cost)
  return slow.length === 0 || fast.length === 0 || Math.min(...slow) > Math.max(...fast)
}

function verdictOn(auto: Row, best: Row, criterion: Criterion): string {
  const factor = costOf(auto, criterion) / costOf(best, criterion)
  const keep = 'leave strategy and preallocate at "auto"'
  if (factor <= TOLERANCE) return keep
  const times = `"auto" takes ${formatNumber(factor)} times as long`
  if (isSlowerThroughout(auto, best, criterion)) return `${times}: set the best strategy explicitly`
  return `${times}, but the rounds of the two overlap, so this may be noise: ${keep}, or measure again on an idle machine`
}

function judge(table: TableResult, criterion: Criterion): string | undefined {
  const measured = table.rows.filter((row) => row.baseline !== true && row.summary !== undefined)
  const auto = measured.find(({ labels }) => labels[0] === 'auto')
  const best = [...measured].sort((a, b) => costOf(a, criterion) - costOf(b, criterion))[0]
  if (best === undefined) return undefined
  if (best === auto) {
    const took = auto.note === undefined ? '' : `, which chose ${auto.note}`
    return `${criterion.subject} (${table.title}): "auto"${took}, is best, ${criterion.told(auto)}: leave strategy and preallocate at "auto".`
  }
  const [strategy, preallocate] = best.labels
  const name = `strategy "${strategy}" with preallocate "${preallocate}"`
  const start = `${criterion.subject} (${table.title}): ${name} is best, ${criterion.told(best)}`
  if (auto === undefined) return `${start}.`
  const took = auto.note || 'another mode'
  return `${start}; auto chose ${took}, ${criterion.told(auto)}: ${verdictOn(auto, best, criterion)}.`
}

/** Returns recommendations as sentences: for durable appends one at a time, and for appends at memory. */
export function recommend(tables: readonly TableResult[]): string[] {
  return tables.flatMap((table) => {
    const level = table.title.split(',')[0]
    const criterion = level === 'sync' ? DURABLE : level === 'memory' ? MEMORY : undefined
    const sentence = criterion && judge(table, criterion)
    return sentence === undefined ? [] : [sentence]
  })
}
