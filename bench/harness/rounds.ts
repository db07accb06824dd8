/**
 * Measures contenders in turns, A B C A B C, so that a drift of the machine's speed affects all of them equally.
 * tinybench runs each turn: it calls the contender, times the calls and keeps the samples until the time of the turn is
 * over.
 */
import { Bench, type Task } from 'tinybench'
import { type LatenciesUs, mergeLatencies, type Summary, sum, summarize } from './stats.js'

/** The result of a call that measures its operations itself. */
export interface CallResult {
  operations: number
  /** The wall time of the operations in microseconds. Default: the sum of their latencies, or the time of the call. */
  elapsedUs?: number
  latencies?: LatenciesUs
}

export interface Contender {
  bytesPerOperation: number
  /** One operation, timed by tinybench from the call until its promise settles. */
  each?: () => unknown
  /** Makes many operations and returns their figures. */
  batch?: () => Promise<CallResult>
  /** Whether `each` returns no promise. */
  sync?: boolean
  /** Called after each turn, untimed, to free disk space, so that a full run fits on a small disk. */
  tidy?: (() => Promise<unknown>) | undefined
}

export interface Turns {
  rounds: number
  /** The duration of one turn of one contender, in milliseconds. */
  sliceMs: number
  /** Called after each turn. */
  onTurn?: () => void
}

interface Collected {
  latencies: LatenciesUs[]
  operations: number
  elapsedUs: number
}

async function takeTurn(contender: Contender, sliceMs: number, collected: Collected): Promise<void> {
  const bench = new Bench({ time: sliceMs, iterations: 1, warmup: false, retainSamples: true, throws: true })
  if (contender.batch === undefined) {
    bench.add('turn', contender.each as () => unknown, { async: contender.sync !== true })
  } else {
    bench.add('turn', batched(contender.batch, bench, collected), { async: true })
  }
  await bench.run()
  if (contender.batch === undefined) collectSamples(bench.tasks[0] as Task, collected)
}

/**
 * Runs a batch in tinybench. tinybench gets the mean time as its sample; the latency of each operation is added to
 * `collected`.
 */
function batched(batch: () => Promise<CallResult>, bench: Bench, collected: Collected): () => Promise<object> {
  return async () => {
    const start = bench.now()
    const { operations, elapsedUs, latencies } = await batch()
    const wallMs = bench.now() - start
    const ownUs = elapsedUs ?? (latencies ? latencies.reduce((total, value) => total + value, 0) : wallMs * 1000)
    collected.operations += operations
    collected.elapsedUs += ownUs
    collected.latencies.push(latencies ?? Float64Array.of(ownUs / operations))
    return { overriddenDuration: wallMs / operations, overriddenIterationCost: wallMs }
  }
}

function collectSamples(task: Task, collected: Collected): void {
  if (task.result.state !== 'completed') throw new Error(`a turn ended ${task.result.state}`)
  const latencies = Float64Array.from(task.result.latency.samples ?? [], (ms) => ms * 1000)
  collected.latencies.push(latencies)
  collected.operations += latencies.length
  collected.elapsedUs += latencies.reduce((total, value) => total + value, 0)
}

function summarizeRounds(rounds: readonly Collected[], bytesPerOperation: number): Summary {
  const summaries = rounds.map(({ latencies, operations, elapsedUs }) =>
    summarize({ latencies: mergeLatencies(latencies), bytesPerOperation, operations, elapsedUs }),
  )
  const all = summarize({
    latencies: mergeLatencies(rounds.flatMap(({ latencies }) => latencies)),
    bytesPerOperation,
    operations: sum(rounds.map(({ operations }) => operations)),
    elapsedUs: sum(rounds.map(({ elapsedUs }) => elapsedUs)),
  })
  return { ...all, rounds: summaries.map(({ p50, opsPerSecond }) => ({ p50, opsPerSecond })) }
}

/**
 * Runs a warm-up turn of each contender, then `rounds` turns of each in order. Returns the figures of all rounds
 * together.
 */
export async function takeTurns<Name>(
  contenders: ReadonlyMap<Name, Contender>,
  { rounds, sliceMs, onTurn }: Turns,
): Promise<Map<Name, Summary>> {
  const collected = new Map<Name, Collected[]>([...contenders.keys()].map((name) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, contender] of contenders) {
      const turn: Collected = { latencies: [], operations: 0, elapsedUs: 0 }
      await takeTurn(contender, round === 0 ? sliceMs / 4 : sliceMs, turn)
      // Round 0 is the warm-up, whose figures are not kept.
      if (round > 0) collected.get(name)?.push(turn)
      await contender.tidy?.()
      onTurn?.()
    }
  }
  const summaries = new Map<Name, Summary>()
  for (const [name, turns] of collected) {
    summaries.set(name, summarizeRounds(turns, (contenders.get(name) as Contender).bytesPerOperation))
  }
  return summaries
}
