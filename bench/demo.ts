/** `npm run demo`: appends real records at every level, reads them back, then measures this disk. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type Durability, type Log, open } from 'durlog'
import { formatCount, useColour } from '#terminal/output.js'
import { describeMachine } from './harness/machine.js'
import { PACKAGE_ROOT } from './harness/package-root.js'
import { withScratch } from './harness/scratch.js'
import { formatMachine } from './report/text.js'

const LEVELS: readonly { level: Durability; survives: string; records: number }[] = [
  { level: 'memory', survives: 'kill -9', records: 200_000 },
  { level: 'async', survives: 'kill -9; writing back has begun', records: 100_000 },
  { level: 'sync', survives: 'kill -9, kernel panic, power cut', records: 100_000 },
  { level: 'full', survives: 'as sync; the strongest level', records: 50_000 },
]
const IN_FLIGHT = 1024
/** The longest time for the appends of a level. On a slow disk fewer records are appended. */
const MAX_MS = 4000
/** File systems that are only in memory. */
const IN_MEMORY = new Set(['tmpfs', 'ramfs', 'devtmpfs'])

/** Returns the `index`-th record: an order, as in a shop's outbox. */
function makeRecord(index: number): string {
  const order = {
    id: index,
    customer: `customer-${(index * 7919) % 10_007}`,
    items: (index % 5) + 1,
    totalCents: (index * 2_654_435) % 1_000_000,
    currency: ['EUR', 'USD', 'JPY', 'BRL'][index % 4],
    note: index % 10 === 0 ? 'naïve café ☕ → gift wrap' : '',
  }
  return JSON.stringify(order)
}

/** Returns the system's temporary folder, or the current folder if the temporary folder is not on a disk. */
function chooseFolder(): string {
  const candidates = [tmpdir(), process.cwd()]
  return candidates.find((dir) => !IN_MEMORY.has(describeMachine(dir).mount?.fileSystem ?? '')) ?? tmpdir()
}

/**
 * Appends records with IN_FLIGHT in flight, until all are appended or MAX_MS have passed. Returns the number of
 * appends.
 */
async function appendAll(log: Log, durability: Durability, records: number): Promise<number> {
  const end = performance.now() + MAX_MS
  let issued = 0
  const lane = async (): Promise<void> => {
    while (issued < records && performance.now() < end) {
      const index = issued
      issued += 1
      const seq = await log.append(makeRecord(index), { durability })
      if (seq !== index) throw new Error(`record ${index} got seq ${seq}`)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  return issued
}

/** Opens the log again and checks that every record is as it was appended. */
async function checkAll(dir: string, count: number): Promise<void> {
  const log = await open(dir)
  let seen = 0
  for await (const { seq, data } of log.read()) {
    if (seq !== seen || data.toString() !== makeRecord(seq)) throw new Error(`record ${seen} was changed`)
    seen += 1
  }
  await log.close()
  if (seen !== count) throw new Error(`${count} records were appended, but ${seen} were read`)
}

async function showLevel(folder: string, { level, survives, records }: (typeof LEVELS)[number]): Promise<void> {
  const dir = join(folder, level)
  const log = await open(dir)
  const start = performance.now()
  const count = await appendAll(log, level, records)
  const seconds = (performance.now() - start) / 1000
  await log.close()
  const beforeReading = performance.now()
  await checkAll(dir, count)
  const reading = (performance.now() - beforeReading) / 1000
  const appended = `${formatCount(count)} records in ${seconds.toFixed(2)} s`.padEnd(27)
  const rate = `${formatCount(Math.round(count / seconds))}/s`.padStart(11)
  console.log(
    `  ${level.padEnd(7)} ${appended}${rate}   read back and equal in ${reading.toFixed(2)} s   (${survives})`,
  )
}

function heading(text: string): void {
  console.log(useColour() ? `\n\x1b[1m${text}\x1b[0m` : `\n${text}`)
}

async function runBench(dir: string): Promise<void> {
  const main = join(PACKAGE_ROOT, 'dist/cli/main.js')
  const child = spawn(process.execPath, [main, 'bench', '--quick', '--dir', dir], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`durlog bench --quick ended with ${code}`)
}

async function main(): Promise<void> {
  const start = performance.now()
  const dir = chooseFolder()
  heading('durlog on this machine')
  process.stdout.write(formatMachine(describeMachine(dir)))
  await withScratch(dir, async (folder) => {
    heading(`Orders appended at each level, ${formatCount(IN_FLIGHT)} in flight, then read back from a new handle`)
    for (const level of LEVELS) await showLevel(folder, level)
  })
  heading('Measurements of this disk: npx durlog bench --quick')
  await runBench(dir)
  console.log(
    `\nThe demo took ${((performance.now() - start) / 1000).toFixed(0)} s. Next: npx durlog --help, README.md.`,
  )
}

await main()
