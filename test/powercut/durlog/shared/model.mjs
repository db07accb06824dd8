// The promises that the notes of several writers make about the log after a power cut. A writer learns its record's seq
// only from the acknowledgement, so ids identify records. Any of the writers makes these notes:
//
//   i <id> <length>...                before the call: records with ids from <id> on; several lengths are a batch
//   a <seq> <id> <count> <level>      acknowledged: they have the seqs from <seq> on; all seqs to their end are
//                                     at <level>
//   l <seq> <level>                   all seqs up to <seq> are at <level>
//   k <member>                        before the member is killed
//   r <seq>, R <first>                before a trim of the records before <seq>, and after it
//   v <count>                         before a process that has the log alone takes <count> seqs without a record
//   t <next>, T <next>                before it cuts the log to end before <next>, and after it
//   o <next> <uuid> <first> <id>...   opened by the only process that has it open: its ids from <first> on,
//                                     - for a void. All other records never come back
//
// An id is the number of its member times IDS_OF_A_MEMBER, plus a counter.
export const IDS_OF_A_MEMBER = 1_000_000
export const VOID = '-'

const SYNCED_LEVELS = ['sync', 'full']

export function memberOf(id) {
  return Math.floor(id / IDS_OF_A_MEMBER)
}

export class SharedModel {
  /** By id: its length, and the batch that it belongs to. */
  records = new Map()
  /** Every record below durableEnd was acknowledged at `sync` or kept by a recovery; acknowledgedEnd: at any level. */
  durableEnd = 0
  acknowledgedEnd = 0
  /** The log may begin no later than `firstLimit`, and no earlier than `trimmed`. */
  firstLimit = 0
  trimmed = 0
  uuid = undefined
  /** By seq: the known id of its record, or VOID. */
  #placed = []
  /** Ids that may be at any seq that is not in #placed: appended, not acknowledged, and not known to be gone. */
  #open = new Set()
  #killed = new Set()
  /** The seqs that were taken without a record. */
  #voidsTaken = 0
  /** The most seqs that each member can have had reserved when it was killed. */
  #largestBatch = new Map()

  /** Throws if the workload itself has seen a violation. */
  add(line) {
    const [kind, ...words] = line.split(' ')
    const number = Number(words[0])
    if (kind === 'i') this.#intend(number, words.slice(1).map(Number))
    else if (kind === 'a') this.#acknowledged(number, Number(words[1]), Number(words[2]), words[3])
    else if (kind === 'l') this.#reached(number + 1, words[1])
    else if (kind === 'k') this.#killed.add(number)
    else if (kind === 'r') this.firstLimit = Math.max(this.firstLimit, number)
    else if (kind === 'R') this.trimmed = Math.max(this.trimmed, number)
    else if (kind === 'v') this.#voidsTaken += number
    else if (kind === 't') this.#truncate(number)
    else if (kind === 'T') this.#truncated(number)
    else if (kind === 'o') this.#opened(number, words[1], Number(words[2]), words.slice(3))
    else throw new Error(`unknown note: ${line}`)
  }

  /** Records that were only in memory may be gone after this. */
  powerCut() {
    this.acknowledgedEnd = this.durableEnd
  }

  #intend(id, lengths) {
    const batch = { first: id, count: lengths.length }
    lengths.forEach((length, i) => {
      if (this.records.has(id + i)) throw new Error(`id ${id + i} was appended twice`)
      this.records.set(id + i, { id: id + i, length, batch })
      this.#open.add(id + i)
    })
    const member = memberOf(id)
    this.#largestBatch.set(member, Math.max(this.#largestBatch.get(member) ?? 0, lengths.length))
  }

  #acknowledged(seq, id, count, level) {
    for (let i = 0; i < count; ++i) {
      const known = this.#placed[seq + i]
      if (known !== undefined && known !== id + i)
        throw new Error(`seq ${seq + i} was acknowledged for id ${id + i}, but belongs to ${known}`)
      this.#placed[seq + i] = id + i
      this.#open.delete(id + i)
    }
    this.#reached(seq + count, level)
  }

  #reached(end, level) {
    this.acknowledgedEnd = Math.max(this.acknowledgedEnd, end)
    if (SYNCED_LEVELS.includes(level)) this.durableEnd = Math.max(this.durableEnd, end)
  }

  /** The records from `next` on may or may not be gone. A void that is being shortened is absent for a moment. */
  #truncate(next) {
    // The place of a void that was taken is unknown.
    const isVoid = (seq) => seq >= 0 && (this.#placed[seq] ?? VOID) === VOID
    let end = next
    if (isVoid(next)) while (isVoid(end - 1)) --end
    this.durableEnd = Math.min(this.durableEnd, end)
    this.acknowledgedEnd = Math.min(this.acknowledgedEnd, end)
  }

  #truncated(next) {
    this.#placed.length = next
    this.#open.clear()
    this.durableEnd = this.acknowledgedEnd = next
  }

  #opened(next, uuid, first, words) {
    const ids = words.map((word) => (word === VOID ? VOID : Number(word)))
    const reason = this.whyNot({ first, next, uuid, ids })
    if (reason !== undefined) throw new Error(`a process died, and ${reason}`)
    this.uuid = uuid
    this.#placed.length = Math.min(this.#placed.length, next)
    ids.forEach((id, i) => {
      this.#placed[first + i] = id
    })
    this.#open.clear()
    this.durableEnd = this.acknowledgedEnd = next
  }

  /** The acknowledged records that a log which ends before `next` has lost, by seq if it is known. */
  lostFrom(next) {
    return this.#placed.slice(next).flatMap((id) => (id === undefined || id === VOID ? [] : [this.records.get(id)]))
  }

  /** Returns undefined if a log may hold `ids` from `first` on, otherwise the reason. */
  whyNot({ first, next, uuid, ids }) {
    if (this.uuid !== undefined && uuid !== this.uuid) return `the log ${this.uuid} is now ${uuid}`
    if (next < this.acknowledgedEnd) return `seq ${next} is lost: those below ${this.acknowledgedEnd} were acknowledged`
    if (first + ids.length !== next) return `${ids.length} seqs from ${first} on do not end before ${next}`
    if (next > 0 && first < this.trimmed) return `seq ${first} is back: all before ${this.trimmed} were trimmed`
    if (next > 0 && first > this.firstLimit) return `the log begins at ${first}, but was trimmed to ${this.firstLimit}`
    return this.#whyNotPlaced(first, ids) ?? this.#whyNotOrdered(first, ids) ?? this.#whyNotVoids(first, ids)
  }

  #whyNotPlaced(first, ids) {
    for (const [i, id] of ids.entries()) {
      const known = this.#placed[first + i]
      if (known === undefined ? id === VOID || this.#open.has(id) : known === id) continue
      const was = known === undefined ? 'which was gone, or never appended' : `and ${known} was known to be there`
      return `seq ${first + i} belongs to ${id}, ${was}`
    }
    return undefined
  }

  /** Checks that each member's records are in its order, and that batches are complete. */
  #whyNotOrdered(first, ids) {
    const last = new Map()
    for (const [i, id] of ids.entries()) {
      if (id === VOID) continue
      const before = last.get(memberOf(id)) ?? -1
      if (id <= before) return `seq ${first + i} belongs to ${id}, after ${before} of the same writer`
      last.set(memberOf(id), id)
      const { batch } = this.records.get(id)
      const begin = i - (id - batch.first)
      for (let k = 0; k < batch.count; ++k) {
        if (ids[begin + k] !== batch.first + k)
          return `a batch is torn: ${batch.count} from ${batch.first} on, seq ${first + begin + k} belongs to ${ids[begin + k]}`
      }
    }
    return undefined
  }

  /** A writer reserves one place at a time, so each killed writer leaves at most one void. Others were taken. */
  #whyNotVoids(first, ids) {
    const voids = ids.filter((id) => id === VOID).length
    let allowed = this.#voidsTaken + this.#placed.slice(0, first).filter((id) => id === VOID).length
    for (const member of this.#killed) allowed += this.#largestBatch.get(member) ?? 0
    return voids <= allowed ? undefined : `${voids} seqs are void, and there can be ${allowed}`
  }
}
