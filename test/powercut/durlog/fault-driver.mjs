// fault-driver.mjs <seed> full|short|broken [<case's number>|<first>-<last>]: makes the disk under a log fail, opens
// the log again in the same mount, after a remount or after a power cut, appends, and compares the log with the
// acknowledgements.
import { spawnSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { open } from '../../../dist/index.js'
import { contentOf } from './content.mjs'
import { faultCases, nameOf } from './fault-cases.mjs'
import { between, seededRandom } from './random.mjs'

const RECORDS_BEFORE = 8
const MOST_RECORDS = 80
const RECORDS_AFTER_FAULT = 5
const RECORDS_AFTER = 20
const KIB = 1024

const [seedText, extent, only = '0-Infinity'] = process.argv.slice(2)
const seed = Number(seedText)
const [first, last = first] = only.split('-').map(Number)
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

class Violation extends Error {}

function demand(holds, text) {
  if (!holds) throw new Violation(text)
}

async function ask(command) {
  process.stdout.write(`${command}\n`)
  const { value = 'failed: the rig is gone' } = await answers.next()
  if (!value.startsWith('ok')) throw new Error(`${command}: ${value}`)
  return value.slice(3)
}

/** The appended records and their acknowledgements. */
class Trial {
  constructor(number, directory, options) {
    this.number = number
    this.directory = join(directory, 'log')
    this.options = options
    this.random = seededRandom(seed, number)
    this.records = []
    /** Every record below this seq was acknowledged at `sync`, or kept by an open. */
    this.syncedEnd = 0
  }

  contentAt(seq) {
    return contentOf(seed + this.number, this.records[seq].id, this.records[seq].length)
  }

  /** Throws the error of the log; the record may or may not be in the log then. */
  async append(level) {
    const seq = this.log.nextSeq
    this.records.length = seq
    this.records.push({ id: this.nextId++, length: between(this.random, 200, 9 * KIB) })
    const durability = level === 'memory+sync' ? 'memory' : level
    const given = await this.log.append(this.contentAt(seq), { durability })
    demand(given === seq, `seq ${given} was assigned, but ${seq} was next`)
    if (level === 'memory+sync' && seq % 3 < 2) return
    if (level === 'memory+sync') await this.log.sync()
    this.syncedEnd = seq + 1
  }
  nextId = 0

  /** Opens the log and compares it with the acknowledgements. All records that it keeps are then promised. */
  async arrive() {
    this.log = await open(this.directory, this.options)
    const { nextSeq: next, recovery, syncedSeq } = this.log
    demand(next >= this.syncedEnd, `seq ${next} to ${this.syncedEnd - 1} are lost (recovery: ${recovery.state})`)
    demand(next <= this.records.length, `${next} records, only ${this.records.length} were appended`)
    demand(syncedSeq === next - 1, `open keeps ${next} records and syncs to seq ${syncedSeq}`)
    let seq = 0
    for await (const { data } of this.log.read()) {
      demand(data.equals(this.contentAt(seq)), `record ${seq} differs from the appended one`)
      ++seq
    }
    demand(seq === next, `reading ends before seq ${seq}, the log before ${next}`)
    this.syncedEnd = next
    return recovery.state
  }
}

/** Whether the file system can still write and sync in this mount. */
function isAlive(directory) {
  const file = join(directory, 'alive')
  try {
    const fd = openSync(file, 'w')
    writeSync(fd, 'alive')
    fsyncSync(fd)
    closeSync(fd)
    rmSync(file)
    return true
  } catch {
    return false
  }
}

const close = (trial) => trial.log.close().catch(() => {})

async function leave(trial, how) {
  // The power is cut while the log is open, so that closing it writes nothing.
  if (how === 'cut') await ask('off')
  await close(trial)
  if (how === 'cut') await ask('on')
  if (how === 'remount') await ask('remount')
}

/** Appends until shortly after the fault has struck. Returns the code of the first append that failed. */
async function appendIntoFault(trial, { fault, nth, level }) {
  await ask(`arm ${fault.kind} ${nth} ${fault.errno} ${fault.ms}`)
  const fired = async () => Number(await ask('fired')) > 0
  let code = ''
  let left = RECORDS_AFTER_FAULT
  for (let i = 0; i < MOST_RECORDS && left > 0; ++i) {
    try {
      await trial.append(level)
    } catch (error) {
      if (error instanceof Violation) throw error
      code ||= error.code ?? String(error)
    }
    if (code !== '' || (await fired())) --left
  }
  if (!(await fired())) spawnSync('sync', ['-f', dirname(trial.directory)])
  demand(await fired(), 'the fault did not strike: this trial tests nothing')
  demand(fault.errno !== 0 || code === '', `an append fails on a slow device: ${code}`)
  demand(code === '' || code.startsWith('ERR_DURLOG_'), `an append fails with ${code}`)
  return code
}

/** Only a mount that has failed (an aborted journal, a shut-down XFS) may refuse the open. */
async function arriveOrRemount(trial) {
  const root = dirname(trial.directory)
  try {
    return await trial.arrive()
  } catch (error) {
    if (error instanceof Violation) throw error
    demand(!isAlive(root), `the first open fails although the device works: ${error.code}: ${error.message}`)
  }
  await ask('remount')
  return `dead mount, ${await trial.arrive()}`
}

async function runCase(number, trialCase) {
  const directory = await ask('fresh')
  const { strategy, preallocate, level, after, end } = trialCase
  const options = { strategy, preallocate, segmentBytes: 256 * KIB, maxRecordBytes: 64 * KIB }
  const trial = new Trial(number, directory, options)
  try {
    trial.log = await open(trial.directory, options)
    for (let i = 0; i < RECORDS_BEFORE; ++i) await trial.append(level)
    const code = await appendIntoFault(trial, trialCase)
    await leave(trial, after)
    const state = await arriveOrRemount(trial)
    for (let i = 0; i < RECORDS_AFTER; ++i) await trial.append('sync')
    await leave(trial, end)
    await trial.arrive()
    await close(trial)
    return { code, state }
  } catch (error) {
    if (trial.log) await close(trial)
    return { violation: error instanceof Violation ? error.message : `${error.code ?? ''} ${error.stack}` }
  }
}

for (const [number, trialCase] of faultCases(extent, seed).entries()) {
  if (number < first || number > last) continue
  const result = await runCase(number, trialCase)
  const told = { number, name: nameOf(trialCase), fault: trialCase.fault.name, ...result }
  process.stdout.write(`tell ${JSON.stringify(told)}\n`)
  if (extent === 'broken' && result.violation !== undefined) break
}
process.exit(0)
