#!/usr/bin/env node
// Measures durlog against its performance targets: medians of several runs, each figure with its baseline from the same
// run. Every run measures all groups, so that a drift of the machine's speed affects all of them equally.
//
//   node bench/targets.mjs [--runs 5] [--only group,group] [--dir DIR] [--json] [--once] [--list]
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { PLAIN, renderTable } from '#terminal/table.js'
import { median } from './dist/harness/stats.js'
import { commitGroups } from './targets/commit.mjs'
import { compareGroups } from './targets/compare.mjs'
import { cursorGroups } from './targets/cursor.mjs'
import { fileGroups } from './targets/files.mjs'
import { followGroups } from './targets/follow.mjs'
import { heapGroups } from './targets/heap.mjs'
import { httpGroups } from './targets/http.mjs'
import { memoryGroups } from './targets/memory.mjs'
import { openingGroups } from './targets/opening.mjs'
import { readGroups } from './targets/read.mjs'
import { responsiveGroups } from './targets/responsive.mjs'
import { scanGroups } from './targets/scan.mjs'
import { severalGroups } from './targets/several.mjs'
import { shipGroups } from './targets/ship.mjs'
import { streamReadGroups } from './targets/stream-reads.mjs'
import { streamGroups } from './targets/streams.mjs'
import { systemGroups } from './targets/system.mjs'
import { tailGroups } from './targets/tail.mjs'

/**
 * @typedef {object} Figure
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {'ratio' | 'value'} [on] whether the target applies to the ratio or to the value; default value
 * @property {number} [min] the lower limit
 * @property {number} [max] the upper limit; without `min` and `max`, the figure is printed but not judged
 * @property {string} [baseline] the name of the baseline
 *
 * @typedef {{ value: number, baseline?: number }} Measurement
 *
 * @typedef {object} Group
 * @property {string} name
 * @property {boolean} [slow] measured only in the first run, unless it is the only selected group
 * @property {Figure[]} figures
 * @property {(context: { dir: string, run: number }) => Promise<Record<string, Measurement>>} run
 * @property {() => Promise<string | undefined>} [unavailable] returns the reason if the group cannot be measured here
 */

/** @type {Group[]} */
const groups = [
  ...commitGroups,
  ...tailGroups,
  ...fileGroups,
  ...memoryGroups,
  ...openingGroups,
  ...readGroups,
  ...scanGroups,
  ...followGroups,
  ...cursorGroups,
  ...systemGroups,
  ...heapGroups,
  ...responsiveGroups,
  ...severalGroups,
  ...shipGroups,
  ...streamGroups,
  ...streamReadGroups,
  ...httpGroups,
  ...compareGroups,
]

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    dir: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
    once: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

function chosenGroups() {
  const names = options.only.split(',').filter((name) => name !== '')
  for (const name of names) {
    if (!groups.some((group) => group.name === name)) {
      throw new Error(`no group ${name}; there are ${groups.map((group) => group.name).join(', ')}`)
    }
  }
  return groups.filter((group) => names.length === 0 || names.includes(group.name))
}

/** @param {Figure} figure @param {{ value: number, baseline?: number }[]} samples */
function judge(figure, samples) {
  const value = median(samples.map((sample) => sample.value))
  const ratios = samples.map((sample) => sample.value / (sample.baseline ?? Number.NaN))
  const ratio = median(ratios)
  const judged = figure.on === 'ratio' ? ratio : value
  const spread = samples.map((sample, i) => (figure.on === 'ratio' ? ratios[i] : sample.value))
  const met =
    figure.min === undefined && figure.max === undefined
      ? undefined
      : judged >= (figure.min ?? Number.NEGATIVE_INFINITY) && judged <= (figure.max ?? Number.POSITIVE_INFINITY)
  return {
    id: figure.id,
    title: figure.title,
    unit: figure.unit,
    on: figure.on ?? 'value',
    min: figure.min,
    max: figure.max,
    value,
    baseline: median(samples.map((sample) => sample.baseline ?? Number.NaN)),
    baselineName: figure.baseline,
    ratio,
    spread: [Math.min(...spread), Math.max(...spread)],
    runs: samples.length,
    met,
  }
}

function shown(number) {
  if (!Number.isFinite(number)) return ''
  const digits = Math.abs(number) >= 1000 ? 0 : Math.abs(number) >= 100 ? 1 : Math.abs(number) >= 10 ? 2 : 3
  return number.toLocaleString('en-US', { maximumFractionDigits: digits })
}

function goalOf(row) {
  const sign = row.min === undefined ? '≤' : '≥'
  const goal = row.min ?? row.max
  if (goal === undefined) return ''
  return row.on === 'ratio' ? `${sign} ${shown(goal)}x` : `${sign} ${shown(goal)} ${row.unit}`
}

function print(rows, skipped) {
  const head = ['', 'figure', 'target', 'median', 'baseline', 'ratio', 'from … to', 'runs']
  const aligns = head.map((_, column) => (column < 2 ? 'left' : 'right'))
  const cells = rows.map((row) => [
    row.met === undefined ? '' : row.met ? 'ok' : 'MISSED',
    row.title,
    goalOf(row),
    `${shown(row.value)} ${row.unit}`,
    Number.isFinite(row.baseline) ? `${shown(row.baseline)} (${row.baselineName})` : '',
    Number.isFinite(row.ratio) ? `${shown(row.ratio)}x` : '',
    row.spread.map(shown).join(' … '),
    String(row.runs),
  ])
  console.log(renderTable(head, cells, aligns, PLAIN))
  for (const [name, reason] of skipped) console.log(`not measured: ${name}: ${reason}`)
}

async function main() {
  const chosen = chosenGroups()
  if (options.list) {
    for (const group of chosen) console.log(`${group.name}: ${group.figures.map((figure) => figure.title).join('; ')}`)
    return
  }
  const runs = options.once ? 1 : Number(options.runs)
  const skipped = new Map()
  const samples = new Map()
  for (let run = 0; run < runs; run += 1) {
    for (const group of chosen) {
      if (skipped.has(group.name) || (group.slow === true && run > 0 && chosen.length > 1)) continue
      const reason = await group.unavailable?.()
      if (reason !== undefined) {
        skipped.set(group.name, reason)
        continue
      }
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[Krun ${run + 1}/${runs}: ${group.name}`)
      try {
        const measured = await group.run({ dir: options.dir, run })
        for (const [id, sample] of Object.entries(measured)) {
          if (!Number.isFinite(sample.value)) throw new Error(`${id} is ${sample.value}`)
          samples.set(id, [...(samples.get(id) ?? []), sample])
        }
      } catch (error) {
        skipped.set(group.name, error.stack)
      }
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  const figures = chosen.flatMap((group) => group.figures)
  const rows = figures.filter(({ id }) => samples.has(id)).map((figure) => judge(figure, samples.get(figure.id)))
  if (options.json) console.log(JSON.stringify({ rows, skipped: Object.fromEntries(skipped) }, null, 2))
  else print(rows, skipped)
  process.exitCode = rows.some((row) => row.met === false) || skipped.size > 0 ? 1 : 0
}

await main()
