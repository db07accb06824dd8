// Causes a fault while a folder of streams is used, closed or opened: under fault_shim.c the n-th call of one kind
// fails, for each n until no call fails; or a resource is missing. Compares the streams with the results of the calls.
// Prints the violations and the codes of the errors as JSON.
import { execFileSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { openExclusive } from '../../dist/streams/api/open-streams.js'
import { portOf } from '../../dist/streams/port/port.js'
import { arm, disarm, fired } from './shim.mjs'

const { folder, phase, call, errno, streams: count, step, most, times } = JSON.parse(process.argv[2])

const KINDS = [
  { encoding: 'json' },
  { encoding: 'utf8' },
  { encoding: 'buffer' },
  { encoding: 'json', retention: { maxRecords: 16 } },
]
const kindOf = (name) => KINDS[Number(name.slice(1)) % KINDS.length]

const limit = (...limits) => execFileSync('prlimit', ['--pid', String(process.pid), ...limits])

function fill(file) {
  for (let bytes = 1 << 20; bytes >= 4096; bytes /= 4) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(bytes, 1))
    } catch {
      // The disk has less space than `bytes`.
    }
  }
}

/** The faults that are no failing calls: each begins and ends. */
const LACKS = {
  'disk space': [() => fill(join(folder, 'ballast')), () => rmSync(join(folder, 'ballast'))],
  'file size': [() => limit('--fsize=100000:unlimited'), () => limit('--fsize=unlimited:unlimited')],
}
const { EFBIG, EMFILE, ENOSPC } = constants.errno
/** After these errors the open folder must work again. */
const PASSING = [EFBIG, EMFILE, ENOSPC]

function begin(nth) {
  if (call in LACKS) LACKS[call][0]()
  else arm({ call, errno, nth, times })
}

/** Returns whether there was a fault. */
function end(nth) {
  const fires = call in LACKS ? nth === 1 : fired() > 0
  if (call in LACKS) LACKS[call][1]()
  else disarm()
  return fires
}

const codes = new Set()
const violations = []
const errors = []

function note(error) {
  errors.push(error)
  codes.add(error.code ?? error.stack)
}

const attempt = async (work) => {
  try {
    return await work()
  } catch (error) {
    return note(error)
  }
}

const openIt = () =>
  openExclusive(
    join(folder, 'streams'),
    { exclusive: true, checkpointMs: 3_600_000, checkpointBytes: 1 << 20 },
    { logSegmentBytes: 1 << 20 },
  )

/** Makes appends, and remembers their results. */
class Model {
  #number = 0
  /** By the name of the stream and the seq: the number of the append. */
  #known = new Map()
  /** The numbers of appends that may be stored. */
  #uncertain = new Set()

  async append(streams, length = 40) {
    const number = this.#number++
    const name = `s${number % count}`
    const text = `${number} ${'x'.repeat(length)}`
    try {
      const value = kindOf(name).encoding === 'buffer' ? Buffer.from(text) : text
      const { seq } = await streams.stream(name).append(value, { create: false })
      this.#knownOf(name).set(seq, number)
    } catch (error) {
      note(error)
      if (error.outcome === 'unknown') this.#uncertain.add(number)
    }
  }

  #knownOf(name) {
    if (!this.#known.has(name)) this.#known.set(name, new Map())
    return this.#known.get(name)
  }

  /** Throws unless the streams have the acknowledged records, and no others except uncertain ones. */
  async check(streams) {
    if (streams.changes.length > 0) throw new Error(`false reports of changes: ${JSON.stringify(streams.changes)}`)
    for (const [name, known] of this.#known) {
      const { firstSeq, retention } = await streams.stream(name).info()
      if (retention === undefined && firstSeq !== 0) throw new Error(`${name} begins at ${firstSeq}`)
      let next = firstSeq
      for await (const { seq, value } of streams.stream(name).read()) {
        const number = Number(value.toString().split(' ')[0])
        const isRight = known.has(seq) ? known.get(seq) === number : this.#uncertain.delete(number)
        if (seq !== next++ || !isRight) throw new Error(`${name} has append ${number} at ${seq}`)
        known.set(seq, number)
      }
      const last = Math.max(...known.keys())
      if (next <= last) throw new Error(`${name} ends before ${next}, but ${last} was acknowledged`)
    }
  }
}

/** Makes calls of all kinds that change files. */
async function use(streams, model) {
  for (const [appends, length] of [
    [3 * count, 40],
    [8, 6000],
    [4, 150_000],
  ]) {
    await Promise.all(Array.from({ length: appends }, () => model.append(streams, length)))
    await attempt(() => streams.stream('gone').delete())
    await attempt(() => streams.stream('gone').append(length))
    await attempt(() => streams.checkpoint())
  }
}

/** Throws if a call fails. */
async function useAgain(streams, model) {
  const before = errors.length
  await use(streams, model)
  if (errors.length > before) throw errors[before]
  await model.check(streams)
}

function openFiles() {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(`${folder}/`) ? [path] : []
    } catch {
      // The descriptor with which the folder was read.
      return []
    }
  })
}

/** Returns whether there was a fault. */
async function scenario(nth) {
  rmSync(join(folder, 'streams'), { recursive: true, force: true })
  const model = new Model()
  let streams = await openIt()
  for (let i = 0; i < count; i++) await streams.stream(`s${i}`).create(kindOf(`s${i}`))
  await use(streams, model)
  if (phase !== 'use') await Promise.all(Array.from({ length: count }, () => model.append(streams)))
  if (phase === 'open') await portOf(streams).close(false)
  begin(nth)
  if (phase === 'use') await use(streams, model)
  else if (phase === 'close') await attempt(() => streams.close())
  else streams = await attempt(openIt)
  const fires = end(nth)
  if (phase !== 'close' && streams !== undefined) {
    // A call that waits for a step that has begun during the fault fails with it.
    await model.append(streams)
    if (PASSING.includes(errno)) await useAgain(streams, model)
    else await use(streams, model)
    await model.check(streams)
    await attempt(() => streams.close())
  }
  const left = openFiles()
  if (left.length > 0) throw new Error(`these files are still open: ${left}`)
  streams = await openIt()
  await model.check(streams)
  await useAgain(streams, model)
  await streams.close()
  const lines = readFileSync(join(folder, 'streams/streams/s0.jsonl'), 'utf8').trim().split('\n')
  for (const line of lines) JSON.parse(line)
  return fires
}

let scenarios = 0
for (let nth = 1; scenarios < most; nth += step, scenarios++) {
  try {
    if (!(await scenario(nth))) break
  } catch (error) {
    violations.push(`${nth}: ${error.stack}`)
    break
  }
}
console.log(JSON.stringify({ scenarios, codes: [...codes].sort(), violations }))
