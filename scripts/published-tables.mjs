// The tables of README.md, docs/BENCHMARKS.md and docs/TARGETS.md, made from bench/results.json. In a document,
// `<!-- figures: NAME -->` and `<!-- end -->` enclose the table NAME.
import { formatNumber } from '../bench/dist/report/format.js'

export const DOCUMENTS = ['README.md', 'docs/BENCHMARKS.md', 'docs/TARGETS.md']
export const FILE_SYSTEMS = ['ext4', 'xfs', 'btrfs']

const number = (value) => (typeof value === 'number' ? formatNumber(value) : '')
const times = (value) => (typeof value === 'number' ? `${formatNumber(value)}x` : '')

/** A Markdown table; the columns after the first `labelCount` are aligned to the right. */
function markdownTable(head, labelCount, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const rule = head.map((_, column) => (column < labelCount ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** The table of `suite` on `fileSystem` whose title starts with `title`. */
function tableOf(results, fileSystem, suite, title) {
  const tables = results.fileSystems[fileSystem].suites.find(({ name }) => name === suite).tables
  const table = tables.find((candidate) => candidate.title.startsWith(title))
  if (table === undefined) throw new Error(`the results for ${fileSystem} have no table "${title}" in ${suite}`)
  return table
}

/** The row with these labels, or the first of a table if none are given. */
function rowOf(table, ...labels) {
  return table.rows.find((row) => labels.every((label, column) => row.labels[column] === label))
}

/** The rows of one table on ext4; `cells` makes a row's figures. */
function rowsOf(results, suite, title, cells) {
  return tableOf(results, 'ext4', suite, title).rows.map((row) => [...row.labels, ...cells(row)])
}

/** The figures of the rows with the same labels on each file system; `cells` makes the cells of such a row. */
function acrossFileSystems(results, suite, title, cells) {
  const first = tableOf(results, 'ext4', suite, title)
  return first.rows.map(({ labels }) => [
    ...labels,
    ...FILE_SYSTEMS.flatMap((name) => cells(rowOf(tableOf(results, name, suite, title), ...labels))),
  ])
}

function machine(results) {
  const { cpu, cores, memoryBytes, platform, kernel, node } = results.machine
  const hardware = `${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB of memory`
  return `Run \`${results.run}\`, commit ${results.commit}: ${hardware}, ${platform}, Linux ${kernel}, Node ${node}.`
}

function strategies(title) {
  return (results) => {
    const head = ['strategy', 'preallocation']
    for (const name of FILE_SYSTEMS) head.push(`${name} p50 us`, 'of the floor', '1,024 in flight /s')
    const cells = (row) => [number(row?.figures?.p50), times(row?.ratio), number(row?.extras?.[0])]
    const rows = acrossFileSystems(results, 'strategies', title, cells)
    const floor = rows.find(([label]) => label.startsWith('C++'))
    return markdownTable(head, 2, [...rows.filter(([label]) => !label.startsWith('C++')), floor])
  }
}

function memory(results) {
  const head = ['strategy', 'preallocation', ...FILE_SYSTEMS.flatMap((name) => [`${name} p50 us`, 'of write(2)'])]
  const cells = (row) => [number(row?.figures?.p50), times(row?.ratio)]
  return markdownTable(head, 2, acrossFileSystems(results, 'strategies', 'memory, records of 128 B', cells))
}

function peersOn(results, fileSystem, durable) {
  const start = durable ? 'durable' : 'not durable'
  const alone = tableOf(results, fileSystem, 'vs', `${start}, one at a time`)
  const many = tableOf(results, fileSystem, 'vs', `${start}, 1024`)
  const own = rowOf(many, 'durlog').figures.opsPerSecond
  return alone.rows.map(({ labels, figures }) => {
    const rate = rowOf(many, ...labels).figures.opsPerSecond
    return { labels, p50: figures.p50, rate, share: own / rate }
  })
}

function peers(durable) {
  return (results) => {
    const head = ['log', 'by']
    for (const name of FILE_SYSTEMS) head.push(`${name} p50 us`, '1,024 in flight /s')
    const measured = FILE_SYSTEMS.map((name) => peersOn(results, name, durable))
    const rows = measured[0].map(({ labels }, i) => [
      ...labels,
      ...measured.flatMap((list) => [number(list[i].p50), number(list[i].rate)]),
    ])
    return markdownTable(head, 2, rows)
  }
}

function readmePeers(results) {
  const peers = peersOn(results, 'ext4', true).sort((a, b) => b.rate - a.rate)
  // A picture of text: npm's page shows no picture of the repository.
  const bar = (rate) => '█'.repeat(Math.max(1, Math.round((20 * rate) / peers[0].rate)))
  return markdownTable(
    ['log', '1,024 in flight', 'appends/s', "durlog's rate / this rate", 'one at a time, p50 us'],
    2,
    peers.map(({ labels, p50, rate, share }) => [labels[0], bar(rate), number(rate), times(share), number(p50)]),
  )
}

/**
 * The operations for which durlog takes longer than raw system calls. A row without a figure is kept, to show the gap.
 */
function readmeSlower(results) {
  const ratioOf = (suite, title, ...labels) => rowOf(tableOf(results, 'ext4', suite, title), ...labels)?.ratio
  const target = (id) => results.targets.find((row) => row.id === id)?.ratio
  const rows = [
    [
      'one 256 B append at `sync`, p50',
      '`O_DIRECT` + `O_DSYNC` write',
      ratioOf('strategies', 'sync, records of 256 B', 'auto'),
    ],
    [
      "5 MiB in 4 KiB appends at `memory`, then `sync('full')`",
      '`pwrite` to a new file, one `fsync`',
      ratioOf('overwrite', '5 MiB in 4 KiB steps, one', 'durlog'),
    ],
    [
      '5 MiB as one append at `full`',
      '`pwrite` to a new file, one `fsync`',
      ratioOf('overwrite', '5 MiB at once', 'durlog'),
    ],
    [
      'HTTP round trip, append at `async`',
      'the same round trip, with `msync(MS_ASYNC)` of a memory map',
      ratioOf('wal', 'HTTP round trip, answered after the append, not', 'durlog append at async'),
    ],
    [
      'one append at `async`, p50',
      '`msync(MS_ASYNC)` of a memory map, which starts no write on Linux',
      ratioOf('wal', 'flush, not durable', 'durlog append at async'),
    ],
    ['1 MiB appends at `sync`', '`O_DIRECT` + `O_DSYNC` writes', 1 / target('commit-1mib')],
  ]
  return markdownTable(
    ['work', 'compared with', 'durlog takes'],
    2,
    rows
      .filter(([, , ratio]) => !(ratio <= 1))
      .sort(([, , a], [, , b]) => a - b)
      .map(([work, other, ratio]) => [work, other, times(ratio)]),
  )
}

/** The methods that are of interest to a program; the suite measures more. */
const SHOWN_WRITERS = [
  'durlog write, a log for each process',
  'durlog append at memory, 1024 in flight',
  'durlog write, one log for all',
  'durlog append at memory, 1024 in flight, one log for all',
  'C++ write + O_APPEND',
  'C++ mmap, fetch_add, populated ahead',
]

function writers(results) {
  const sizes = ['128 B', '1 B', '4095 B']
  const tables = sizes.map((size) =>
    results.fileSystems.ext4.suites
      .find(({ name }) => name === 'append')
      .tables.find(({ title }) => title.startsWith('4 processes') && title.endsWith(` × ${size}`)),
  )
  const head = ['method', ...sizes.flatMap((size) => [`${size}, us a call`, 'of write(2)'])]
  const shown = tables[0].rows.filter(({ labels }) => SHOWN_WRITERS.includes(labels[0]))
  const rows = shown.map(({ labels }) => [
    labels[0],
    ...tables.flatMap((table) => {
      const row = rowOf(table, ...labels)
      return [number(row?.extras?.[1]), times(row?.ratio)]
    }),
  ])
  return markdownTable(head, 1, rows)
}

function latency(suite, title, label, figure = 'p50', unit = 'p50 us') {
  return (results) => {
    const rows = rowsOf(results, suite, title, (row) => [
      number(row.figures?.[figure]),
      number(row.figures?.p99),
      times(row.ratio),
    ])
    const full = [label, unit, 'p99 us', 'ratio']
    const used = full.map((_, column) => column === 0 || rows.some((row) => row[column] !== ''))
    const keep = (cells) => cells.filter((_, column) => used[column])
    return markdownTable(keep(full), 1, rows.map(keep))
  }
}

/**
 * A table that joins `tables` on their labels. Each entry of `tables` adds two columns: its p50 (or total) and the
 * ratio.
 */
function sideBySide(label, tables) {
  return (results) => {
    const found = tables.map(({ suite, title }) => tableOf(results, 'ext4', suite, title))
    const rows = found[0].rows.map(({ labels }) => [
      labels[0],
      ...found.flatMap((table) => {
        const row = rowOf(table, ...labels)
        return [number(row.figures?.p50 ?? row.extras?.[0]), times(row.ratio)]
      }),
    ])
    return markdownTable([label, ...tables.flatMap(({ column }) => [column, 'ratio'])], 1, rows)
  }
}

function scans(results) {
  const table = tableOf(results, 'ext4', 'read', 'scan')
  const rows = table.rows.map(({ labels, figures }) => [
    ...labels,
    number(figures.opsPerSecond),
    number(figures.megabytesPerSecond),
  ])
  return markdownTable(['record', 'by', 'records/s', 'MB/s'], 2, rows)
}

/** The targets with full titles: an indented title continues the last title that is not indented. */
function withFullTitles(rows) {
  let parent = ''
  return rows.map((row) => {
    if (!row.title.startsWith(' ')) parent = row.title
    return { ...row, title: row.title.startsWith(' ') ? `${parent}, ${row.title.trim()}` : row.title }
  })
}

/** The number of targets that are met, and a table of the missed ones. */
function targets(results) {
  const judged = withFullTitles(results.targets).filter(({ met }) => met !== undefined)
  const missed = judged.filter(({ met }) => !met)
  const rows = missed.map((row) => {
    const sign = row.min === undefined ? '≤' : '≥'
    const unit = row.on === 'ratio' ? 'x' : ` ${row.unit}`
    return [
      row.title,
      `${sign} ${number(row.min ?? row.max)}${unit}`,
      `${number(row.value)} ${row.unit}`,
      row.baseline === null ? '' : `${number(row.baseline)} (${row.baselineName})`,
      times(row.ratio),
    ]
  })
  const head = ['missed target', 'target', 'median', 'baseline', 'ratio']
  const runs = results.targetRuns === 1 ? 'in the run' : `by the medians of ${results.targetRuns} runs`
  const met = `${judged.length - missed.length} of ${judged.length} targets are met ${runs}.`
  return `${met}\n\n${markdownTable(head, 1, rows)}`
}

const TABLES = {
  machine,
  'durable-256': strategies('sync, records of 256 B'),
  'durable-4096': strategies('sync, records of 4 KiB'),
  memory,
  peers: peers(true),
  'peers-memory': peers(false),
  'readme-peers': readmePeers,
  'readme-slower': readmeSlower,
  writers,
  wal: sideBySide('method', [
    { suite: 'wal', title: 'flush, durable', column: 'flush, p50 us' },
    { suite: 'wal', title: 'HTTP round trip, answered after the append, durable', column: 'HTTP, p50 us' },
  ]),
  'wal-memory': sideBySide('method', [
    { suite: 'wal', title: 'flush, not durable', column: 'flush, p50 us' },
    { suite: 'wal', title: 'HTTP round trip, answered after the append, not', column: 'HTTP, p50 us' },
  ]),
  overwrite: sideBySide('file', [
    { suite: 'overwrite', title: '5 MiB in 4 KiB steps, fsync', column: 'a sync after each 4 KiB, p50 us' },
    { suite: 'overwrite', title: '5 MiB in 4 KiB steps, one', column: '4 KiB steps, one sync, ms' },
    { suite: 'overwrite', title: '5 MiB at once', column: 'one write, one sync, ms' },
  ]),
  open: latency('recovery', 'open, by', 'sealed segments'),
  scans,
  'single-reads': latency('read', 'one record', 'call'),
  targets,
}

/** `markdown` with each enclosed table replaced by a new one from `results`. */
export function withTables(markdown, results) {
  return markdown.replace(/<!-- figures: (\S+) -->\n[\s\S]*?<!-- end -->/g, (_, name) => {
    const table = TABLES[name]
    if (table === undefined) throw new Error(`there is no table "${name}"`)
    return `<!-- figures: ${name} -->\n${table(results)}\n<!-- end -->`
  })
}
