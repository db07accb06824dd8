// Compares the followers' records with the writer's actions. Nothing is judged before the end, so the order in
// which lines of different processes arrive does not matter.

/** A record that comes later than this was not late but stuck: a machine's stalls are shorter. */
const HANG_MS = 10_000
/** Shorter waits are not held against the delays of the follower's timer. */
const SHORT_MS = 10

export class WriterHistory {
  /** By era, its first seq. */
  eras = new Map()
  acks = []
  cuts = []
  trims = []
  end = undefined

  told(line) {
    const [kind, ...fields] = line.split(' ')
    const numbers = fields.map(Number)
    if (kind === 'e') this.eras.set(numbers[0], numbers[1])
    else if (kind === 'a') this.acks.push({ ms: numbers[0], era: numbers[1], memory: numbers[2], synced: numbers[3] })
    else if (kind === 'C') this.cuts.push({ ms: numbers[0], seq: numbers[1] })
    else if (kind === 'n') this.cuts.pop()
    else if (kind === 'T') this.trims.push({ ms: numbers[0], seq: numbers[1] })
    else if (kind === 'f') this.end = { era: numbers[0], end: numbers[1] }
  }

  /** The lowest first seq of the eras after `era` up to `last`. */
  lowestStart(era, last) {
    let lowest = Number.POSITIVE_INFINITY
    for (const [other, start] of this.eras) if (other > era && other <= last) lowest = Math.min(lowest, start)
    return lowest
  }

  /** The place of the record before `end`, when `era` was the last: its era, and `end`. */
  placeBefore(end, era) {
    let own = -1
    for (const [other, start] of this.eras) if (other <= era && other > own && start < end) own = other
    return { era: own, end }
  }

  /** Whether a cut or a trim that was requested before `ms` explains why a reader cannot continue with `next`. */
  explains(next, ms) {
    const cut = this.cuts.some((asked) => asked.ms <= ms && asked.seq + 1 < next)
    return cut || this.trims.some((asked) => asked.ms <= ms && asked.seq > next)
  }
}

export class FollowerHistory {
  name
  durableOnly
  startMs = undefined
  bursts = []
  jumps = []
  refusals = []
  delays = []
  problems = []

  constructor(name, durableOnly) {
    this.name = name
    this.durableOnly = durableOnly
  }

  told(line) {
    const [kind, ...fields] = line.split(' ')
    const numbers = fields.map(Number)
    if (kind === 'r') this.startMs = numbers[0]
    else if (kind === 'b') this.bursts.push({ ms: numbers[0], era: numbers[1], end: numbers[2] })
    else if (kind === 'j') this.jumps.push({ seq: numbers[0], era: numbers[1], from: numbers[2] })
    else if (kind === 'o') this.refusals.push({ ms: numbers[0], next: numbers[1], message: fields.slice(2).join(' ') })
    else if (kind === 'd') this.delays.push({ from: numbers[0], to: numbers[1] })
    else if (kind === 'x') this.problems.push(line.slice(2))
  }

  hasReached(place) {
    const last = this.bursts.at(-1)
    return last !== undefined && !isBefore(last, place)
  }

  /** Where the follower's stream of records is not one that the writer's log has held. */
  violations(writer) {
    const found = [...this.problems]
    for (const { seq, era, from } of this.jumps) {
      const start = writer.lowestStart(from, era)
      if (start < seq) found.push(`record ${seq} of era ${era} came after era ${from}, though ${start} had been cut`)
    }
    for (const { ms, next, message } of this.refusals)
      if (!writer.explains(next, ms)) found.push(`out of range before ${next} without a cut: ${message}`)
    return found
  }

  hangs(writer) {
    return this.waits(writer)
      .filter(({ net }) => net > HANG_MS)
      .map(({ raw, end }) => `record ${end - 1} came ${raw.toFixed(0)} ms after its acknowledgement`)
  }

  /**
   * For each acknowledgement, the time until its newest record was delivered: in total, and without the lateness of a
   * bare timer in this process. Leaves out records that were cut before they were delivered, and those older than the
   * follower.
   */
  waits(writer) {
    const found = []
    const starts = [...writer.eras].sort(([a], [b]) => a - b)
    let burst = 0
    let newest = { era: -1, end: 0 }
    let newestMs = 0
    let last = { era: -1, end: 0 }
    let acked = last
    for (const ack of writer.acks) {
      const end = this.#endOf(ack)
      if (ack.era === acked.era && end === acked.end) continue
      acked = { era: ack.era, end }
      const wanted = writer.placeBefore(end, ack.era)
      if (!isBefore(last, wanted)) continue
      last = wanted
      while (isBefore(newest, wanted) && burst < this.bursts.length) {
        const next = this.bursts[burst++]
        newestMs = next.ms
        if (isBefore(newest, next)) newest = next
      }
      if (isBefore(newest, wanted)) break
      const cut =
        newest.era > wanted.era && starts.some(([e, start]) => e > wanted.era && e <= newest.era && start < end)
      if (cut) continue
      if (ack.ms < this.startMs) continue
      const raw = Math.max(0, newestMs - ack.ms)
      found.push({ raw, net: raw - this.#delayed(ack.ms, newestMs), end })
    }
    return found
  }

  #endOf(ack) {
    return this.durableOnly ? ack.synced : ack.memory
  }

  #delayed(from, to) {
    if (to - from < SHORT_MS) return 0
    let ms = 0
    for (const delay of this.delays) ms += Math.max(0, Math.min(to, delay.to) - Math.max(from, delay.from))
    return ms
  }
}

function isBefore(a, b) {
  return a.era < b.era || (a.era === b.era && a.end < b.end)
}
