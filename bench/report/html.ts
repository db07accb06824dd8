/** Renders the report as a single HTML page, which works offline, can be printed, and supports light and dark mode. */
import { readFile } from 'node:fs/promises'
import { machineFields } from '../harness/machine.js'
import { tableCells } from './format.js'
import { chartsOf } from './html-charts.js'
import { escapeHtml, type Page, STYLE } from './html-page.js'
import type { Report, Row, SuiteResult, TableResult } from './report.js'

/**
 * Renders a number with a bar in its background, so that throughputs can be compared easily. Works in print and without
 * a script.
 */
function barCell(text: string, share: number): string {
  const width = Math.max(0.5, share * 100).toFixed(1)
  return `<td class="bar"><span style="width:${width}%"></span><b>${escapeHtml(text)}</b></td>`
}

/**
 * Returns the columns with throughputs, which are drawn as bars: for each, the share of the largest value in each row.
 */
function barShares(table: TableResult): Map<number, number[]> {
  const columns = new Map<number, number[]>()
  const figure = table.figures.indexOf('opsPerSecond')
  const add = (column: number, values: number[]): void => {
    const most = Math.max(...values.filter(Number.isFinite))
    columns.set(
      column,
      values.map((value) => value / most),
    )
  }
  if (figure !== -1) {
    add(
      table.labels.length + figure,
      table.rows.map(({ summary }) => summary?.opsPerSecond ?? Number.NaN),
    )
  }
  for (const [i, name] of (table.extras ?? []).entries()) {
    if (!/^(ops\/s|MB\/s|GB\/s|IOPS)/.test(name)) continue
    const values = table.rows.map(({ extras }) => (typeof extras?.[i] === 'number' ? extras[i] : Number.NaN))
    add(table.labels.length + table.figures.length + i, values)
  }
  return columns
}

function renderTable(table: TableResult): string {
  const { head, labelCount, rows } = tableCells(table)
  const bars = barShares(table)
  const header = head.map((name, i) => `<th${i < labelCount ? ' class="label"' : ''}>${escapeHtml(name)}</th>`).join('')
  const body = rows.map((cells, r) => {
    const columns = cells.map((cell, c) => {
      const share = bars.get(c)?.[r]
      if (share !== undefined && Number.isFinite(share)) return barCell(cell, share)
      return c < labelCount ? `<th class="label">${escapeHtml(cell)}</th>` : `<td>${escapeHtml(cell)}</td>`
    })
    return `<tr${table.rows[r]?.baseline ? ' class="raw"' : ''}>${columns.join('')}</tr>`
  })
  return `<div class="scroll"><table><thead><tr>${header}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
}

/** Returns the table with its rows sorted by their medians, the fastest first, if it shows medians. */
function sorted(table: TableResult): TableResult {
  if (!table.figures.includes('p50')) return table
  const p50 = (i: number): number => table.rows[i]?.summary?.p50 ?? Number.POSITIVE_INFINITY
  const order = table.rows.map((_, i) => i).sort((a, b) => (p50(a) === p50(b) ? a - b : p50(a) - p50(b)))
  const rows = order.map((i) => table.rows[i] as Row)
  return table.series === undefined
    ? { ...table, rows }
    : { ...table, rows, series: order.map((i) => table.series?.[i] ?? []) }
}

function renderFio(table: TableResult): string {
  const lines = table.rows.flatMap(({ labels, fio }) => (fio === undefined ? [] : [`# ${labels.join(', ')}\n${fio}`]))
  return lines.length === 0
    ? ''
    : `<details><summary>the same with fio</summary><pre>${escapeHtml(lines.join('\n'))}</pre></details>`
}

function renderSection(unsorted: TableResult, charts: object[]): string {
  const table = sorted(unsorted)
  const chart = chartsOf(table)
  let place = ''
  if (chart !== undefined) {
    place = `<div class="chart" data-chart="${charts.length}"></div>`
    charts.push(chart)
  }
  const hasRatio = table.ratioTo !== '' && table.rows.some(({ ratio }) => ratio !== undefined)
  const ratio = !hasRatio ? '' : ` · ratio to ${escapeHtml(table.ratioTo)}`
  return `<section><h3>${escapeHtml(table.title)}</h3><p class="what">${escapeHtml(table.durability)}${ratio}</p>
${place}${renderTable(table)}${renderFio(table)}</section>`
}

function renderFindings(findings: readonly string[]): string {
  const items = findings.map((finding) => `<li>${escapeHtml(finding)}</li>`).join('')
  return items === '' ? '' : `<ul class="findings">${items}</ul>`
}

function renderSuite(suite: SuiteResult, charts: object[]): string {
  const tables = suite.tables.map((table) => renderSection(table, charts)).join('\n')
  return `<h2 id="${suite.name}">${escapeHtml(suite.title)}</h2>
${renderFindings(suite.findings)}
${tables}`
}

function renderMachine(report: Report): string {
  const fields: [string, string][] = [
    ...machineFields(report.machine),
    ['measured', `${report.startedAt}, ${(report.elapsedMs / 1000).toFixed(0)} s${report.quick ? ', quick' : ''}`],
    ['durlog', report.durlog],
  ]
  const items = fields.map(([name, text]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(text)}</dd>`)
  return `<dl class="machine">${items.join('')}</dl>`
}

/** The script that draws the charts. The library precedes it on the page. */
const SCRIPT = `
const charts = JSON.parse(document.getElementById('charts').textContent)
// Marks that would run into each other on a narrow page are left out.
const apart = (ticks, space) => ticks.filter(([at], i) => i === 0 || at - ticks[i - 1][0] > space)
const short = (v) => v == null ? '' : v >= 1e6 ? v / 1e6 + 'M' : v >= 1e3 ? v / 1e3 + 'k' : String(+v.toPrecision(3))
for (const place of document.querySelectorAll('[data-chart]')) {
  const chart = charts[place.dataset.chart]
  const grey = { stroke: '#888', grid: { stroke: 'rgba(128,128,128,.22)', width: 1 }, ticks: { stroke: 'rgba(128,128,128,.4)' } }
  const value = (u, v) => short(v)
  // The legend is at the right of the chart, or below it on a narrow page.
  const width = () => place.clientWidth > 760 ? place.clientWidth - 290 : place.clientWidth || 900
  const axes = [
    { ...grey, label: chart.xLabel, ...(chart.ticks && { splits: (u, axis, min, max) => apart(chart.ticks, (max - min) * 48 / width()).map(([at]) => at), values: (u, list) => list.map((at) => chart.ticks.find((tick) => tick[0] === at)[1]) }) },
    { ...grey, label: chart.yLabel, size: 64, values: (u, list) => list.map(short) },
  ]
  const series = [{ label: chart.xLabel, value: (u, v) => chart.ticks ? (v == null ? '' : (100 - 100 / 10 ** v).toFixed(2) + ' %') : short(v) },
    ...chart.series.map(({ label, colour, dash }) => ({ label, stroke: colour, width: 1.6, dash, value, points: { show: false } }))]
  const markers = { width: 3, fill: () => 'transparent', dash: (u, i) => u.series[i].dash?.length ? 'dashed' : 'solid' }
  const options = { width: width(), height: 320, series, axes, legend: { markers }, scales: { x: { time: false }, y: chart.log ? { distr: 3 } : {} } }
  const plot = new uPlot(options, [chart.x, ...chart.series.map(({ y }) => y)], place)
  const fit = () => plot.setSize({ width: width(), height: 320 })
  addEventListener('resize', fit)
  addEventListener('beforeprint', fit)
}
`

/** The script and the style sheet of uPlot, which draws charts. */
export interface ChartLibrary {
  script: string
  style: string
}

/** Reads uPlot from `folder`, into which the build has copied it. */
export async function readChartLibrary(folder: URL): Promise<ChartLibrary> {
  const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8')
  return { script: await read('uPlot.iife.min.js'), style: await read('uPlot.min.css') }
}

/** Returns the text of the page. */
export function renderHtml(report: Report, { script, style }: ChartLibrary): string {
  const charts: object[] = []
  const suites = report.suites.map((suite) => renderSuite(suite, charts)).join('\n')
  const links = report.suites.map(({ name, title }) => `<a href="#${name}">${escapeHtml(title)}</a>`).join(' · ')
  const page: Page = {
    title: `durlog bench: ${report.machine.mount?.fileSystem ?? report.machine.platform}`,
    head: `<style>${style}${STYLE}</style>`,
    body: `<h1>durlog bench</h1>
${renderMachine(report)}
${renderFindings(report.notes)}
<nav>${links}</nav>
${suites}
<p class="what">Grey rows are raw system calls, made by C++ in the same run. Latencies are microseconds, MB/s are 10<sup>6</sup> bytes.
out% is the share of latencies beyond Tukey's fences. Contenders took turns.</p>
<script id="charts" type="application/json">${JSON.stringify(charts).replaceAll('<', '\\u003c')}</script>
<script>${script}</script>
<script>${SCRIPT}</script>`,
  }
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escapeHtml(page.title)}</title>${page.head}</head>
<body>${page.body}</body></html>
`
}
