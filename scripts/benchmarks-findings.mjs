// Sentences for docs/BENCHMARKS.md with their figures; a sentence without figures is left out.

const shown = (number) => number.toLocaleString('en-US', { maximumSignificantDigits: 3 })

function tableOf(report, suite, title) {
  return report.suites.find(({ name }) => name === suite)?.tables.find((table) => table.title.startsWith(title))
}

function rowOf(table, ...labels) {
  return table?.rows.find((row) => labels.every((label, i) => row.labels[i]?.startsWith(label)))
}

const p50 = (row) => row?.summary?.p50
const rate = (row) => row?.summary?.opsPerSecond

/** "ext4 2.1x, xfs 1.8x" of the figures that `measure` returns; '' if there are none. */
function each(reports, measure, unit = 'x') {
  const parts = []
  for (const [name, report] of reports) {
    const value = measure(report)
    if (value !== undefined && Number.isFinite(value)) parts.push(`${name} ${shown(value)}${unit}`)
  }
  return parts.join(', ')
}

/** Adds `words` with the figures in place of %, if there are any. */
function sentence(list, figures, words) {
  if (figures !== '') list.push(words.replace('%', figures))
}

function ratioOf(above, below) {
  return above === undefined || below === undefined ? undefined : above / below
}

function strategyFindings(reports, says) {
  const at = (report, bytes) => tableOf(report, 'strategies', `sync, records of ${bytes}`)
  sentence(
    says,
    each(reports, (report) => rowOf(at(report, '256 B'), 'auto')?.ratio),
    'A durable append of 256 B by `auto`, relative to the raw O_DIRECT+O_DSYNC write: %.',
  )
  sentence(
    says,
    each(reports, (report) => rowOf(at(report, '4 KiB'), 'auto')?.ratio),
    'The same with 4 KiB: %.',
  )
  sentence(
    says,
    each(reports, (report) => {
      const table = at(report, '4 KiB')
      return ratioOf(
        p50(rowOf(table, 'C++ pwrite+fdatasync', 'fallocate')),
        p50(rowOf(table, 'C++ pwrite+fdatasync', 'zero')),
      )
    }),
    'With fallocate alone each write converts its extent: pwrite+fdatasync of 4 KiB on a fallocated file, relative to a zero-filled one: %.',
  )
  sentence(
    says,
    each(reports, (report) => rowOf(tableOf(report, 'strategies', 'memory, records of 128'), 'auto')?.ratio),
    '`write` of 128 B into memory, relative to write(2) with O_APPEND in C++ (below 1 is faster): %.',
  )
}

function throughputFindings(reports, says) {
  sentence(
    says,
    each(reports, (report) => rowOf(tableOf(report, 'strategies', 'sync, records of 256'), 'auto')?.extras?.[0], '/s'),
    'Durable appends of 256 B with 1024 in flight: %.',
  )
  const best = (report) => {
    const table = tableOf(report, 'vs', 'durable, 1024')
    const own = rate(rowOf(table, 'durlog'))
    const others = table?.rows.filter((row) => row.labels[0] !== 'durlog').map(rate) ?? []
    return ratioOf(own, others.length > 0 ? Math.max(...others) : undefined)
  }
  sentence(says, each(reports, best), 'Relative to the best of the others at the same durability, 1024 in flight: %.')
}

function readingFindings(reports, says) {
  sentence(
    says,
    each(reports, (report) => {
      const table = tableOf(report, 'recovery', 'open, by the number')
      return ratioOf(p50(table?.rows.at(-1)), p50(table?.rows[0]))
    }),
    'Opening the log with the most segments, relative to the one with the fewest: %.',
  )
  sentence(
    says,
    each(
      reports,
      (report) => rowOf(tableOf(report, 'read', 'scan'), '1 KiB', 'for await')?.summary?.megabytesPerSecond,
      ' MB/s',
    ),
    'A scan of 1 KiB records with `for await` reads %.',
  )
}

function allocationSurprises(reports, surprises) {
  const layouts = (report) => tableOf(report, 'prealloc', 'random 4 KiB')
  sentence(
    surprises,
    each(reports, (report) => rowOf(layouts(report), 'sparse')?.ratio),
    'Throughput of random writes into a sparse file, relative to a fully written one: %.',
  )
  sentence(
    surprises,
    each(reports, (report) => rowOf(layouts(report), '64 KiB clusters zero-written')?.ratio),
    'The same with 64 KiB of zeros written before the first write to each cluster: %.',
  )
  sentence(
    surprises,
    each(reports, (report) => {
      const row = rowOf(layouts(report), 'sparse, extent size hint')
      return row?.ratio
    }),
    'The same with an extent size hint of 1 MiB, on the file systems that have it (ext4 accepts the call and ignores it): %.',
  )
}

function otherSurprises(reports, surprises) {
  const append = (report, start) => tableOf(report, 'append', start)
  const lost = []
  for (const [name, report] of reports) {
    for (const table of report.suites.find((suite) => suite.name === 'append')?.tables ?? []) {
      for (const row of table.rows) {
        const told = row.extras?.find((value) => typeof value === 'string' && value.startsWith('LOST'))
        if (told) lost.push(`${row.labels[0]} (${table.title}; ${name})`)
      }
    }
  }
  if (lost.length > 0) surprises.push(`Methods that lost records when several processes appended: ${lost.join('; ')}.`)
  sentence(
    surprises,
    each(reports, (report) => rowOf(append(report, '4 processes × 100,000 × 128 B'), 'C++ Linux AIO')?.ratio),
    'Linux AIO on a buffered file, relative to write + O_APPEND: %.',
  )
  sentence(
    surprises,
    each(reports, (report) => {
      const table = tableOf(report, 'strategies', 'sync, records of 256')
      return ratioOf(p50(rowOf(table, 'C++ mmap+msync', 'zero')), p50(rowOf(table, 'C++ O_DIRECT')))
    }),
    'msync of one small record, relative to O_DIRECT+O_DSYNC, both on zero-filled extents: %. The cost grows with the size of the folios in the page cache, as a one-byte store writes a whole folio back.',
  )
}

/** @param {Map<string, object>} reports by file system */
export function findingsOf(reports) {
  const says = []
  const surprises = []
  strategyFindings(reports, says)
  throughputFindings(reports, says)
  readingFindings(reports, says)
  allocationSurprises(reports, surprises)
  otherSurprises(reports, surprises)
  return { says, surprises }
}
