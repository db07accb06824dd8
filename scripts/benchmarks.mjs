#!/usr/bin/env node
// Measures every suite on images of ext4, XFS and Btrfs and every target on the machine's own disk, writes the figures
// to bench/results.json, and renders the tables of the documents from that file.
//
//   node scripts/benchmarks.mjs [--full] [--dir DIR] [--runs 5]   measure and render; needs root for the images
//   node scripts/benchmarks.mjs --render                          render the tables from the committed results
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DOCUMENTS, FILE_SYSTEMS, withTables } from './published-tables.mjs'

const SUITES = ['strategies', 'commit', 'append', 'wal', 'overwrite', 'prealloc', 'recovery', 'read', 'vs']
const MAX_JSON_BYTES = 256 * 2 ** 20
const MAX_LINE = 320
const root = fileURLToPath(new URL('..', import.meta.url))
const resultsPath = `${root}bench/results.json`

const { values: options } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    dir: { type: 'string', default: tmpdir() },
    runs: { type: 'string', default: '5' },
    render: { type: 'boolean', default: false },
  },
})

function runNode(args, acceptsMisses = false) {
  console.error(`node ${args.join(' ')}`)
  const { status, stdout, error } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: MAX_JSON_BYTES,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw error
  if (status !== 0 && !(acceptsMisses && status === 1)) throw new Error(`exit status ${status}`)
  return JSON.parse(stdout)
}

/** Rounds all numbers to four significant digits: more than the precision of a measurement, in a third of the bytes. */
function rounded(value) {
  if (typeof value === 'number') return Number.isFinite(value) ? Number(value.toPrecision(4)) : null
  if (Array.isArray(value)) return value.map(rounded)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]))
}

/** The table with only the figures that it shows: without the curves and rounds of the HTML report. */
function compactTable({ title, durability, labels, figures, extras, ratioTo, rows }) {
  const compactRows = rows.map(({ labels, summary, extras, ratio, note }) => {
    const shown = summary && Object.fromEntries(figures.map((figure) => [figure, summary[figure]]))
    return rounded({ labels, figures: shown, extras, ratio, note })
  })
  return { title, durability, labels, extras, ratioTo, rows: compactRows }
}

function measureFileSystem(name) {
  const effort = options.full ? [] : ['--quick']
  const report = runNode([
    'dist/cli/main.js',
    'bench',
    ...SUITES,
    '--fs-image',
    name,
    '--dir',
    options.dir,
    '--json',
    ...effort,
  ])
  const suites = report.suites.map(({ name, tables }) => ({ name, tables: tables.map(compactTable) }))
  return { startedAt: report.startedAt, machine: report.machine, suites }
}

function measureTargets() {
  const args = ['bench/targets.mjs', '--json', '--dir', options.dir, '--runs', options.runs]
  const { rows, skipped } = runNode(args, true)
  for (const [group, reason] of Object.entries(skipped)) console.error(`not measured: ${group}: ${reason}`)
  return rows.map(({ spread, ...row }) => rounded(row))
}

function measure() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  const fileSystems = Object.fromEntries(FILE_SYSTEMS.map((name) => [name, measureFileSystem(name)]))
  const targets = measureTargets()
  const { machine, startedAt } = fileSystems.ext4
  const date = startedAt.slice(0, 10)
  const { platform, kernel, cpu, cores, memoryBytes, node } = machine
  return {
    run: `${date}-${commit}`,
    commit,
    date,
    effort: options.full ? 'full' : 'quick',
    targetRuns: Number(options.runs),
    machine: { platform, kernel, cpu, cores, memoryBytes, node },
    fileSystems,
    targets,
  }
}

/** JSON in which a value that fits in MAX_LINE characters is on one line, so that each row of a table is. */
function textOf(value, indent = '') {
  const text = JSON.stringify(value)
  if (text.length <= MAX_LINE || value === null || typeof value !== 'object') return text
  const inner = `${indent} `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const parts = Array.isArray(value)
    ? value.map((each) => textOf(each, inner))
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([key, each]) => `${JSON.stringify(key)}:${textOf(each, inner)}`)
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}

function render(results) {
  for (const document of DOCUMENTS) {
    const path = `${root}${document}`
    writeFileSync(path, withTables(readFileSync(path, 'utf8'), results))
  }
}

if (!options.render) writeFileSync(resultsPath, `${textOf(measure())}\n`)
render(JSON.parse(readFileSync(resultsPath, 'utf8')))
