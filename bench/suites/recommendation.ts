/** Recommends a strategy for this disk, from its measurements. */

import { median, type Summary } from '../harness/stats.js'
import { formatNumber } from '../report/format.js'
import type { Row, TableResult } from '../report/report.js'

/** If `auto` is slower than the best explicit choice by more than this factor, the finding reports it. */
const TOLERANCE = 1.15

/** If the medians of the raw rows differ by more than this factor between rounds, the machine is not steady enough. */
const STEADY = 1.5
const KEEP = 'leave strategy and preallocate at "auto"'

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
  if (factor <= TOLERANCE) return KEEP
  const times = `"auto" takes ${formatNumber(factor)} times as long`
  if (isSlowerThroughout(auto, best, criterion)) return `${times}: set the best strategy explicitly`
  return `${times}, but the rounds of the two overlap, so this may be noise: ${KEEP}, or measure again on an idle machine`
}

/** Returns the median of the factors by which the raw rows varied between rounds: no part of durlog is in it. */
function variationOfRaw({ rows }: TableResult, { cost }: Criterion): number {
  const factors = rows.flatMap(({ baseline, summary }) => {
    const costs = baseline === true ? (summary?.rounds ?? []).map(cost) : []
    return costs.length > 1 ? [Math.max(...costs) / Math.min(...costs)] : []
  })
  return factors.length === 0 ? 1 : median(factors)
}

function judge(table: TableResult, criterion: Criterion): string | undefined {
  const variation = variationOfRaw(table, criterion)
  if (variation > STEADY) {
    const times = formatNumber(variation)
    return `${criterion.subject} (${table.title}): no recommendation, because the raw system calls themselves varied by a factor of ${times} between rounds: ${KEEP}, or measure again on an idle machine.`
  }
  const measured = table.rows.filter((row) => row.baseline !== true && row.summary !== undefined)
  const auto = measured.find(({ labels }) => labels[0] === 'auto')
  const best = [...measured].sort((a, b) => costOf(a, criterion) - costOf(b, criterion))[0]
  if (best === undefined) return undefined
  if (best === auto) {
    const took = auto.note === undefined ? '' : `, which chose ${auto.note}`
    return `${criterion.subject} (${table.title}): "auto"${took}, is best, ${criterion.told(auto)}: ${KEEP}.`
  }
  const [strategy, preallocate] = best.labels
  const name = `strategy "${strategy}" with preallocate "${preallocate}"`
  const start = `${criterion.subject} (${table.title}): ${name} is best, ${criterion.told(best)}`
  if (auto === undefined) return `${start}.`
  const took = auto.note || 'another mode'
  return `${start}; auto chose ${took}, ${criterion.told(auto)}: ${verdictOn(auto, best, criterion)}.`
}

/**
 * Returns recommendations as sentences: for durable appends one at a time, and for appends at memory. If `disturbances`
 * made the figures invalid, returns the reasons instead.
 */
export function recommend(tables: readonly TableResult[], disturbances: readonly string[] = []): string[] {
  if (disturbances.length > 0)
    return [`No recommendation, because ${disturbances.join(' and ')}: ${KEEP}, or measure again on an idle machine.`]
  return tables.flatMap((table) => {
    const level = table.title.split(',')[0]
    const criterion = level === 'sync' ? DURABLE : level === 'memory' ? MEMORY : undefined
    const sentence = criterion && judge(table, criterion)
    return sentence === undefined ? [] : [sentence]
  })
}
