// What the notes promise of the log that a power cut leaves.

const SYNCED_LEVELS = ['sync', 'full']

export class Model {
  /** By seq: the record that was last meant to stand there. */
  records = []
  /** Below it every record was acknowledged at `sync`, or kept by a recovery. */
  durableEnd = 0
  /** Below it every record was acknowledged at some level. */
  acknowledgedEnd = 0
  /** The log may begin no later than `firstLimit`, and no earlier than `trimmed`. */
  firstLimit = 0
  trimmed = 0
  uuid = undefined
  /** The cursor: no record before `durable` may come again, and none from `furthest` on was ever committed. */
  cursor = undefined
  /** A truncation that was begun: what stands from there on may be gone or not. */
  #truncating = Number.POSITIVE_INFINITY

  /** Throws where the workload itself saw what must not be. */
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
    else throw new Error(`what is the note ${line}?`)
  }

  /** What was only in memory may be gone from here on. */
  powerCut() {
    this.acknowledgedEnd = this.durableEnd
  }

  #intend(seq, id, lengths) {
    if (seq !== this.records.length)
      throw new Error(`seq ${seq} was to be written when ${this.records.length} was next`)
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

  /** Whether the cursor may be there: undefined, or what is wrong with it. */
  whyNotAtPosition(position) {
    const { durable, furthest } = this.cursor
    if (position < durable) return `the cursor is back at ${position}: ${durable} was committed at sync`
    if (position > furthest) return `the cursor is at ${position}, and was never moved beyond ${furthest}`
    return undefined
  }

  /** Whether a log may end before `next`: undefined, or what is wrong with it. */
  whyNotEndAt(next) {
    if (next < this.durableEnd) return `record ${next} is lost: those below ${this.durableEnd} were acknowledged`
    if (next > this.records.length) return `there are ${next} records, ${this.records.length} were ever appended`
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
