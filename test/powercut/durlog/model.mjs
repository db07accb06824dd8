// The promises that the notes make about the log after a power cut.

const SYNCED_LEVELS = ['sync', 'full']

export class Model {
  /** By seq: the last record that was appended at that seq. */
  records = []
  /** Every record below this seq was acknowledged at `sync`, or kept by a recovery. */
  durableEnd = 0
  /** Every record below this seq was acknowledged at some level. */
  acknowledgedEnd = 0
  /** The log may begin no later than `firstLimit`, and no earlier than `trimmed`. */
  firstLimit = 0
  trimmed = 0
  uuid = undefined
  /** The cursor: no record before `durable` may be delivered again, and none from `furthest` on was ever committed. */
  cursor = undefined
  /** A truncation that has begun: records from this seq on may or may not be gone. */
  #truncating = Number.POSITIVE_INFINITY

  /** Throws if the workload itself has seen a violation. */
  add(line) {
    const [kind, ...words] = line.split(' ')
    const number = Number(words[0])
    if (kind === 'i') this.#intend(number, Number(words[1]), words.slice(2).map(Number))
    else if (kind === 'o') this.#opened(number, words[1])
    else if (kind === 'a') this.#acknowledged(number + 1, words[1])
    else if (kind === 't') this.#truncate(number)
    else if (kind === 'T') this.#truncated(number)
    else if (kind === 'r') this.firstLimit = Math.max(this.firstLimit, number)
    else if (kind === 'R') this.trimmed = Math.max(this.trimmed, number)
    else if (kind === 'c') this.#cursorOpened(number)
    else if (kind === 'k') this.cursor.furthest = Math.max(this.cursor.furthest, number)
    else if (kind === 'K') this.#committed(number, words[1])
    else if (kind === 's') this.cursor.durable = Math.min(this.cursor.durable, number)
    else if (kind === 'S') this.cursor = { durable: number, furthest: number }
    else throw new Error(`unknown note: ${line}`)
  }

  /** Records that were only in memory may be gone after this. */
  powerCut() {
    this.acknowledgedEnd = this.durableEnd
  }

  #intend(seq, id, lengths) {
    if (seq !== this.records.length)
      throw new Error(`an append was noted at seq ${seq}, but ${this.records.length} was next`)
    lengths.forEach((length, i) => {
      this.records.push({ id: id + i, length, batchEnd: seq + lengths.length, batchFirst: seq })
    })
  }

  #acknowledged(end, level) {
    this.acknowledgedEnd = Math.max(this.acknowledgedEnd, end)
    if (SYNCED_LEVELS.includes(level)) this.durableEnd = Math.max(this.durableEnd, Math.min(end, this.#truncating))
  }

  #truncate(next) {
    this.#truncating = next
    this.durableEnd = Math.min(this.durableEnd, next)
    this.acknowledgedEnd = Math.min(this.acknowledgedEnd, next)
  }

  #truncated(next) {
    this.#truncating = Number.POSITIVE_INFINITY
    this.records.length = next
    this.durableEnd = this.acknowledgedEnd = next
  }

  #opened(next, uuid) {
    if (next < this.acknowledgedEnd && this.#truncating > next)
      throw new Error(`a process died, and of ${this.acknowledgedEnd} acknowledged records ${next} are left`)
    if (this.uuid !== undefined && uuid !== this.uuid) throw new Error(`the log ${this.uuid} is now ${uuid}`)
    if (next > this.records.length) throw new Error(`${next} records, only ${this.records.length} were appended`)
    this.uuid = uuid
    this.#truncated(next)
  }

  #cursorOpened(position) {
    if (this.cursor === undefined) this.cursor = { durable: position, furthest: position }
    const reason = this.whyNotAtPosition(position)
    if (reason !== undefined) throw new Error(`a process died, and ${reason}`)
  }

  #committed(position, level) {
    if (SYNCED_LEVELS.includes(level)) this.cursor.durable = Math.max(this.cursor.durable, position)
  }

  /** Returns undefined if the cursor may be at `position`, otherwise the reason. */
  whyNotAtPosition(position) {
    const { durable, furthest } = this.cursor
    if (position < durable) return `the cursor is back at ${position}: ${durable} was committed at sync`
    if (position > furthest) return `the cursor is at ${position}, but was never moved beyond ${furthest}`
    return undefined
  }

  /** Returns undefined if a log may end before `next`, otherwise the reason. */
  whyNotEndAt(next) {
    if (next < this.durableEnd) return `record ${next} is lost: those below ${this.durableEnd} were acknowledged`
    if (next > this.records.length) return `there are ${next} records, only ${this.records.length} were appended`
    const last = this.records[next - 1]
    if (last !== undefined && last.batchEnd > next)
      return `a batch is torn: it has seqs ${last.batchFirst} to ${last.batchEnd - 1}, the log ends before ${next}`
    return undefined
  }

  whyNotBeginAt(first) {
    if (first < this.trimmed) return `seq ${first} is back: all before ${this.trimmed} were trimmed`
    if (first > this.firstLimit) return `the log begins at ${first}: the records from ${this.firstLimit} on are lost`
    return undefined
  }
}
