// The run's summary as a table, and for each violation the command that reproduces it.

const columns = [
  ['writer', (r) => r.name],
  ['file system', (r) => r.fileSystem],
  ['recordings', (r) => r.recordings.length],
  ['disks', (r) => total(r, 'disks')],
  ['at flush', (r) => total(r, 'atFlush')],
  ['torn 512 B', (r) => total(r, 'torn512')],
  ['torn 4 KiB', (r) => total(r, 'torn4096')],
  ['second cut', (r) => total(r, 'again')],
  ['file system torn', (r) => total(r, 'fileSystemTorn')],
  ['violations', (r) => total(r, 'violations', (list) => list.length)],
  ['broken caught', (r) => caught(r)],
  ['seconds', (r) => Math.round(seconds(r))],
  ['disks/min', (r) => Math.round((total(r, 'disks') / seconds(r)) * 60)],
]

function total(result, field, of = (value) => value) {
  return result.recordings.reduce((sum, recording) => sum + of(recording[field]), 0)
}

function seconds(result) {
  return total(result, 'recordSeconds') + total(result, 'checkSeconds')
}

function caught(result) {
  const broken = Object.values(result.broken)
  return `${broken.filter((entry) => entry !== null).length} of ${broken.length}`
}

function printTable(results) {
  const rows = [columns.map(([title]) => title), ...results.map((r) => columns.map(([, value]) => String(value(r))))]
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`
  console.log(line(rows[0]))
  console.log(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`)
  for (const row of rows.slice(1)) console.log(line(row))
}

function printRecoveries(result) {
  const counts = {}
  for (const { recoveries } of result.recordings) {
    for (const [what, times] of Object.entries(recoveries)) counts[what] = (counts[what] ?? 0) + times
  }
  const listed = Object.entries(counts).map(([what, times]) => `${what} ${times}`)
  console.log(`${result.name} on ${result.fileSystem}: recovery after the first cut: ${listed.join(', ')}`)
}

function printBroken(result) {
  for (const [what, entry] of Object.entries(result.broken)) {
    const verdict = entry === null ? 'NOT CAUGHT' : `caught after ${entry.disks} disks: ${entry.text}`
    console.log(`${result.name} on ${result.fileSystem}, broken by ${what}: ${verdict}`)
  }
}

function printViolations(result, program) {
  for (const { violations, seed, pair, keep } of result.recordings) {
    for (const { text, cut, againFile, againCut } of violations) {
      const again = againFile === '' ? '' : ` --again-recording=${againFile} --again-cut=${againCut}`
      console.log(`\nVIOLATION, ${result.name} on ${result.fileSystem}, seed ${seed}: ${text}`)
      console.log(`  ${program} replay --recording=${keep}/first.recording --cut=${cut}${again} --seed=${seed} \\`)
      console.log(`    --verifier='${pair.verifier}'`)
    }
  }
}

/** True if every trial held: no violation, and every broken writer caught. */
export function printReport(results, program) {
  const tried = results.filter((result) => result.skipped === undefined)
  for (const { name, fileSystem, skipped } of results) {
    if (skipped !== undefined) console.log(`${name} on ${fileSystem} skipped: ${skipped}`)
  }
  if (tried.length > 0) printTable(tried)
  for (const result of tried) printRecoveries(result)
  for (const result of tried) printBroken(result)
  for (const result of tried) printViolations(result, program)
  return tried.every(
    (result) =>
      total(result, 'violations', (list) => list.length) === 0 &&
      Object.values(result.broken).every((entry) => entry !== null),
  )
}
