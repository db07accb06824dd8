import { describe, expect, test } from 'vitest'
import { describeMachine } from '../../bench/harness/machine.js'
import { disturbances } from '../../bench/harness/other-load.js'
import { summarize } from '../../bench/harness/stats.js'
import { fioOf } from '../../bench/report/fio.js'
import { formatNumber, formatSize, tableCells } from '../../bench/report/format.js'
import { readChartLibrary, renderHtml } from '../../bench/report/html.js'
import { REPORT_VERSION, type Report, type Row, type TableResult } from '../../bench/report/report.js'
import { formatResult } from '../../bench/report/text.js'
import { recommend } from '../../bench/suites/recommendation.js'
import { judgeUses } from '../../bench/suites/uses.js'
import { FAILURES } from '../../bench/suites/wal.js'

function rowOf(labels: string[], us: number, more: Partial<Row> = {}): Row {
  const latencies = Float64Array.of(us, us, us * 2)
  return { labels, summary: summarize({ latencies, bytesPerOperation: 256 }), ratio: us / 100, ...more }
}

const table: TableResult = {
  title: 'sync, records of 256 B',
  durability: 'sync: on the device',
  labels: ['strategy', 'prealloc'],
  figures: ['p50', 'opsPerSecond'],
  ratioTo: 'C++ O_DIRECT+O_DSYNC',
  chart: 'latency',
  rows: [
    rowOf(['auto', 'auto'], 130, { note: 'direct' }),
    rowOf(['direct', 'zero'], 110),
    rowOf(['mmap', 'zero'], 400),
    rowOf(['C++ O_DIRECT+O_DSYNC', 'zero'], 100, { baseline: true }),
    { labels: ['pwrite', '<script>alert(1)</script>'], note: 'refused & "quoted"' },
  ],
}

describe('tables', () => {
  test('a row without figures keeps its place and shows the reason', () => {
    const { head, rows } = tableCells(table)
    expect(head).toEqual(['strategy', 'prealloc', 'p50 us', 'ops/s', 'ratio', 'note'])
    expect(rows[1]).toEqual(['direct', 'zero', '110', '6,818', '1.10x', ''])
    expect(rows[4]?.slice(2)).toEqual(['', '', '', 'refused & "quoted"'])
  })

  test('numbers are shown with their significant digits', () => {
    expect([0.0123, 1.234, 12.34, 123.4, 12_345].map(formatNumber)).toEqual(['0.012', '1.23', '12.3', '123', '12,345'])
    expect([256, 4096, 2 ** 20].map(formatSize)).toEqual(['256 B', '4 KiB', '1 MiB'])
  })
})

describe('in a terminal', () => {
  const wide: TableResult = {
    ...table,
    figures: [
      'p50',
      'p90',
      'p99',
      'p999',
      'max',
      'mean',
      'stddev',
      'outlierShare',
      'opsPerSecond',
      'megabytesPerSecond',
    ],
    extras: ['ops/s, 1024 in flight', 'MB/s, 1024 in flight'],
    rows: table.rows.slice(0, 4).map((row) => ({ ...row, extras: [1_790_000, 458] })),
  }
  const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length))

  test.each([80, 120])('a table fits %i columns and names the columns that it omits', (columns) => {
    const shown = formatResult(wide, columns)
    expect(widest(shown)).toBeLessThanOrEqual(columns)
    expect(shown).toContain(' p99 ')
    expect(shown).toContain('1,790,000')
    expect(shown.replaceAll('\n', ' ')).toContain(`not shown in ${columns} columns: stddev us`)
    expect(shown).toContain('auto, auto: direct')
  })

  test('a table of alternatives keeps its rates: a long label in any column is broken first', () => {
    const rows = [
      rowOf(['better-sqlite3', 'WAL, synchronous=OFF, a transaction for each group'], 100),
      rowOf(['group commit in JS', 'writev for each group'], 100),
    ]
    const shown = formatResult({ ...wide, labels: ['log', 'by'], figures: ['opsPerSecond'], extras: [], rows }, 80)
    expect(widest(shown)).toBeLessThanOrEqual(80)
    expect(shown).not.toContain('not shown')
    expect(shown).toContain('│ group commit in JS │')
  })

  test('the table of failures fits 80 columns with its long cells', () => {
    expect(widest(formatResult(FAILURES, 80))).toBeLessThanOrEqual(80)
  })

  test('a long label is broken at a blank', () => {
    const label = 'durlog append at memory, 1024 in flight, one log for all'
    const shown = formatResult({ ...table, labels: ['method'], rows: [rowOf([label], 100)] }, 70)
    expect(shown).toContain('│ durlog append at memory, 1024 in │')
    expect(shown).toContain('│ flight, one log for all          │')
  })

  test('a table without raw rows promises no ratio', () => {
    const own = table.rows.slice(0, 3).map(({ ratio: _, ...row }) => row)
    expect(formatResult({ ...table, rows: own }, 80)).not.toContain('ratio')
  })
})

describe('the verdict for a use', () => {
  const sync = { ...table, rows: [{ ...rowOf(['auto', 'auto'], 100), extras: [1_790_000] }] }

  test('has the figure, the limit and its source', () => {
    expect(judgeUses([sync], false)).toEqual([
      "A database's write-ahead log: yes, p99 of a sync is 0.198 ms, limit 10 ms, as etcd asks.",
      'A request that a person waits for: yes, p99 of a sync is 0.198 ms, limit 100 ms, which people notice.',
      'An ingest buffer for 10,000 events a second: yes, 1,790,000 durable appends a second with 1,024 in flight, limit 10,000.',
    ])
  })

  test('a "no" on a busy machine says so', () => {
    const slow = { ...table, rows: [rowOf(['auto', 'auto'], 9000)] }
    expect(judgeUses([slow], false)[0]).toContain('no, p99 of a sync is 17.8 ms')
    expect(judgeUses([slow], true)[0]).toContain('no, while other programs use the machine, p99')
  })
})

test('a row has the command line of fio that writes in the same way', () => {
  expect(fioOf({ method: 'direct-dsync', preallocate: 'zero', recordBytes: 256 })).toBe(
    'fio --name=direct-dsync --filename=fio.tmp --rw=write --bs=4096 --size=67108864 --ioengine=psync --direct=1 --sync=dsync --overwrite=1 --runtime=5 --unlink=1',
  )
  expect(fioOf({ method: 'pwrite-fdatasync', preallocate: 'none', recordBytes: 256, processes: 4 })).toContain(
    '--bs=256 --size=67108864 --ioengine=psync --fdatasync=1 --fallocate=none --numjobs=4',
  )
  expect(fioOf({ method: 'stdio', preallocate: 'none', recordBytes: 256 })).toBeUndefined()
})

describe('the recommendation', () => {
  test('names the best measured row, and auto if it is as good', () => {
    expect(recommend([table])[0]).toContain('strategy "direct" with preallocate "zero" is best')
    expect(recommend([table])[0]).toContain('"auto" takes 1.18 times as long: set the best strategy explicitly')
    const close = { ...table, rows: [rowOf(['auto', 'auto'], 112), ...table.rows.slice(1)] }
    expect(recommend([close])[0]).toContain('leave strategy and preallocate at "auto"')
  })

  test('names auto where the table shows that nothing is better', () => {
    const first = { ...table, rows: [rowOf(['auto', 'auto'], 100, { note: 'direct' }), ...table.rows.slice(1)] }
    expect(recommend([first])[0]).toContain('"auto", which chose direct, is best, p50 100 us')
    expect(recommend([first])[0]).not.toContain('strategy "direct"')
  })

  test('a difference below the variation between rounds gives no recommendation', () => {
    const restless = (row: Row, ...p50s: number[]): Row => {
      if (row.summary) row.summary.rounds = p50s.map((p50) => ({ p50, opsPerSecond: 1e6 / p50 }))
      return row
    }
    const auto = restless(rowOf(['auto', 'auto'], 130), 100, 160)
    const direct = restless(rowOf(['direct', 'zero'], 110), 90, 150)
    expect(recommend([{ ...table, rows: [auto, direct] }])[0]).toContain('measure again on an idle machine')
  })

  test('is withheld if the raw calls vary between rounds, or if others use the machine', () => {
    const raw = rowOf(['C++ pwrite', 'zero'], 100, { baseline: true })
    if (raw.summary) raw.summary.rounds = [100, 190, 120].map((p50) => ({ p50, opsPerSecond: 1e6 / p50 }))
    const unsteady = recommend([{ ...table, rows: [...table.rows.slice(0, 3), raw] }])[0]
    expect(unsteady).toContain('no recommendation, because the raw system calls themselves varied by a factor of 1.90')
    const busy = { processors: 0.6, waitedForProcessor: 0.1, waitedForDisk: 0.3, stolen: 0 }
    expect(recommend([table], disturbances(busy))).toEqual([
      'No recommendation, because other programs use 60 % of the processors and programs wait for a disk 30 % of the time: leave strategy and preallocate at "auto", or measure again on an idle machine.',
    ])
    expect(disturbances({ processors: 0.1, waitedForProcessor: 0.1, waitedForDisk: 0.05, stolen: 0.01 })).toEqual([])
  })

  test('never recommends a raw call', () => {
    expect(recommend([{ ...table, rows: table.rows.slice(3) }])).toEqual([])
  })
})

async function pageOf(...tables: TableResult[]): Promise<string> {
  const report: Report = {
    version: REPORT_VERSION,
    durlog: '0.0.0',
    startedAt: '2026-01-01T00:00:00.000Z',
    quick: true,
    elapsedMs: 1000,
    machine: describeMachine(import.meta.dirname),
    notes: [],
    suites: [{ name: 'strategies', title: 'Strategies', tables, findings: ['a < b'] }],
  }
  return renderHtml(report, await readChartLibrary(new URL('../../bench/dist/report/', import.meta.url)))
}

function chartsIn(page: string): { log: boolean; series: { colour: string }[] }[] {
  return JSON.parse(/<script id="charts"[^>]*>(.*?)<\/script>/s.exec(page)?.[1] ?? '')
}

test('no two lines of a chart have the same colour', async () => {
  const rows = Array.from({ length: 40 }, (_, i) => rowOf(['direct', String(i)], 100 + i))
  const series = Array.from(rows, () => [1, 2])
  const charts = chartsIn(await pageOf({ ...table, rows }, { ...table, rows, series, chart: 'time' }))
  expect(charts).toHaveLength(2)
  for (const { series: lines } of charts) {
    expect(lines.length).toBeGreaterThan(25)
    for (const { colour } of lines) expect(colour).toMatch(/^#[0-9a-f]{6}$/)
    expect(new Set(lines.map(({ colour }) => colour)).size).toBe(lines.length)
  }
})

test('the rows of the page are sorted by their medians', async () => {
  const page = await pageOf(table)
  const labels = [...page.matchAll(/<tr[^>]*><th class="label">([^<]*)</g)].map(([, label]) => label)
  expect(labels.slice(1)).toEqual(['C++ O_DIRECT+O_DSYNC', 'direct', 'auto', 'mmap', 'pwrite'])
})

test('the page is complete in itself and holds no markup from outside', async () => {
  const page = await pageOf(table)
  expect(page).toContain('uPlot')
  expect(page).toContain('a &lt; b')
  expect(page).not.toContain('<script>alert(1)')
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
  expect(chartsIn(page)).toMatchObject([
    { log: true, series: [{ label: 'C++ O_DIRECT+O_DSYNC, zero', dash: [5, 4] }, {}, { label: 'auto, auto' }, {}] },
  ])
})
