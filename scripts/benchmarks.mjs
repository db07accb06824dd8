#!/usr/bin/env node
// Measures every suite on images of ext4, XFS and Btrfs and writes docs/BENCHMARKS.md from the results. The document is
// never edited by hand: its text is here, in benchmarks-findings.mjs and in benchmarks-limits.mjs.
//
//   node scripts/benchmarks.mjs [--quick] [--only ext4,xfs] [--dir DIR] [--reuse] [--targets] [--runs 5]
//
// Root, for the images. --reuse writes the document from the last results without measuring; --targets measures the
// targets only, and leaves the document's other sections as they are.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { machineFields } from '../bench/dist/harness/machine.js'
import { formatNumber, tableCells } from '../bench/dist/report/format.js'
import { findingsOf } from './benchmarks-findings.mjs'
import { limitsOf } from './benchmarks-limits.mjs'

const FILE_SYSTEMS = ['ext4', 'xfs', 'btrfs']
const SUITES = ['strategies', 'commit', 'append', 'wal', 'overwrite', 'prealloc', 'recovery', 'read', 'vs']
const root = fileURLToPath(new URL('..', import.meta.url))
/** The measurements, the document's only source. Not in git, like every folder of this name. */
const results = `${root}bench/build/results`
const path = `${root}docs/BENCHMARKS.md`
const MAX_JSON_BYTES = 256 * 2 ** 20

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: FILE_SYSTEMS.join(',') },
    dir: { type: 'string', default: tmpdir() },
    reuse: { type: 'boolean', default: false },
    targets: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
  },
})

function runNode(args) {
  const { status, stdout, error } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: MAX_JSON_BYTES,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw error
  return { status, stdout }
}

function measureFileSystem(name) {
  console.error(`measuring on ${name}`)
  const quick = options.quick ? ['--quick'] : []
  const args = ['bench', ...SUITES, '--fs-image', name, '--dir', options.dir, '--json', ...quick]
  const { status, stdout } = runNode(['dist/cli/main.js', ...args])
  if (status !== 0) throw new Error(`the bench on ${name} ended with ${status}`)
  writeFileSync(`${results}/${name}.json`, stdout)
}

function measureTargets() {
  console.error('measuring the targets')
  const { stdout } = runNode(['bench/targets.mjs', '--json', '--dir', options.dir, '--runs', options.runs])
  writeFileSync(`${results}/targets.json`, stdout)
}

function readResult(name) {
  const file = `${results}/${name}.json`
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

function cell(text) {
  return text.replaceAll('|', '\\|')
}

function markdownTable(head, labelCount, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`
  const rule = head.map((_, i) => (i < labelCount ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

function tableText(table) {
  const { head, labelCount, rows } = tableCells(table)
  const ratio = table.ratioTo === '' ? '' : `; ratio to ${table.ratioTo}`
  return `**${table.title}** (${table.durability}${ratio})\n\n${markdownTable(head, labelCount, rows)}\n`
}

function suiteText(suite) {
  const findings = suite.findings.map((finding) => `- ${finding}\n`).join('')
  return `### ${suite.title}\n\n${findings === '' ? '' : `${findings}\n`}${suite.tables.map(tableText).join('\n')}`
}

function reportText(name, report) {
  const fields = machineFields(report.machine).map(([label, text]) => `- ${label}: ${text}\n`)
  const when = `- measured: ${report.startedAt.slice(0, 10)}, durlog ${report.durlog}${report.quick ? ', quick' : ''}\n`
  return `## ${name}\n\n${fields.join('')}${when}\n${report.suites.map(suiteText).join('\n')}`
}

function targetNumber(value) {
  return value === null ? '' : formatNumber(value)
}

function targetsText(targets) {
  const rows = targets.rows.map((row) => {
    const goal = row.min ?? row.max
    const sign = row.min === undefined ? '≤' : '≥'
    const unit = row.on === 'ratio' ? 'x' : ` ${row.unit}`
    return [
      row.title,
      goal === undefined ? '' : `${sign} ${targetNumber(goal)}${unit}`,
      `${targetNumber(row.value)} ${row.unit}`,
      row.baseline === null ? '' : `${targetNumber(row.baseline)} (${row.baselineName})`,
      row.ratio === null ? '' : `${targetNumber(row.ratio)}x`,
      row.met === undefined ? '' : row.met ? 'met' : '**missed**',
    ]
  })
  const head = ['figure', 'target', 'median', 'baseline', 'ratio', '']
  return `## The targets\n\nMedians of ${options.runs} runs of \`node bench/targets.mjs\` on the machine's own disk, each figure beside its
baseline of the same run.\n\n${markdownTable(head, 1, rows)}\n${METRICS_COST}\n`
}

const METRICS_COST = `
What \`stats()\` keeps (two histograms for each commit, counters, channels without a subscriber) leaves 0.996x of the throughput
of appends at memory, 0.998x of \`write\`, and 1.02x, that is all of it, at sync with 1024 in flight: geometric means of two medians
of 150 pairs each, in turn in one process with a copy that has none of it, the roles changed in between. The histograms take 54
to 72 ns a commit, a channel 2 to 5 ns a turn of the event loop. Measured by hand.
`

function limitsText(targets) {
  const texts = limitsOf(targets)
  return texts.length === 0 ? '' : `## Where a target is missed\n\n${texts.map((text) => `- ${text}\n`).join('')}`
}

const HOW_TO_READ = `## How to read this

- Latencies are microseconds, MB/s are 10^6 bytes a second. out% is the share of latencies beyond Tukey's fences.
- Contenders take turns (A B C A B C) under one clock, so that drift of the machine affects all alike. A ratio within
  a table is more reliable than a figure, and a figure more than a comparison of two runs.
- Rows that begin with C++ are raw system calls made in the same run on a thread of their own, without Node. They are
  the floor, not a log: no order among writers, no checksums, no records that could be read back.
- A table never compares two durabilities. Each table names its own.
- The file systems are images on a loop device (direct I/O where the host's file system has it): the loop
  slows all rows of a table alike, so a figure here is slower than on a bare disk.
- On your disk: \`npx durlog bench --quick\`, then \`npx durlog bench all --html bench.html\`; \`--fs-image xfs\` as root makes a file system to measure.
`

/** The document's text with the sections of the same titles replaced. */
function withSections(text, sections) {
  const titleOf = (section) => section.slice(0, section.indexOf('\n'))
  const fresh = new Map(sections.map((section) => [titleOf(section), section.trimEnd()]))
  const parts = text.split(/^(?=## )/m)
  return parts.map((part) => (fresh.has(titleOf(part)) ? `${fresh.get(titleOf(part))}\n\n` : part)).join('')
}

function main() {
  mkdirSync(results, { recursive: true })
  if (options.targets) {
    measureTargets()
    const targets = readResult('targets')
    writeFileSync(path, withSections(readFileSync(path, 'utf8'), [targetsText(targets), limitsText(targets)]))
    return
  }
  const names = options.only.split(',')
  if (!options.reuse) {
    for (const name of names) measureFileSystem(name)
    measureTargets()
  }
  const reports = FILE_SYSTEMS.flatMap((name) => {
    const report = readResult(name)
    return report ? [[name, report]] : []
  })
  const targets = readResult('targets')
  const findings = findingsOf(new Map(reports))
  const text = [
    '# Benchmarks\n\nWritten by `node scripts/benchmarks.mjs`; do not edit.\n',
    HOW_TO_READ,
    `## Findings\n\n${findings.says.map((line) => `- ${line}\n`).join('')}`,
    `## Less obvious\n\n${findings.surprises.map((line) => `- ${line}\n`).join('')}`,
    ...(targets ? [targetsText(targets), limitsText(targets)] : []),
    ...reports.map(([name, report]) => reportText(name, report)),
  ].join('\n')
  writeFileSync(path, text)
  console.error('docs/BENCHMARKS.md written')
}

main()
