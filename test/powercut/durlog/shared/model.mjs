// What the notes of several writers promise of the log that a power cut leaves. A writer learns its record's seq by the
// acknowledgement alone, so records are known by their ids. The notes, each by any of the writers, are
//
//   i <id> <length>...                before the call: records with ids from <id> on; several lengths are an atomic batch
//   a <seq> <id> <count> <level>      acknowledged: they have the seqs from <seq> on, and all up to there is at <level>
//   l <seq> <level>                   all up to <seq> is at <level>
//   k <member>                        before it is killed
//   r <seq>, R <first>                before a trim of what stands before <seq>, and after it
//   o <next> <uuid> <first> <id>...   opened while nobody else had it open: what it holds from <first> on, - for a void.
//                                     All other records are gone for good
//
// An id is the number of its member times IDS_OF_A_MEMBER, and more.
export const IDS_OF_A_MEMBER = 1_000_000
export const VOID = '-'

const SYNCED_LEVELS = ['sync', 'full']

export function memberOf(id) {
  return Math.floor(id / IDS_OF_A_MEMBER)
}

export class SharedModel {
  /** By id: its length, and the batch that it belongs to. */
  records = new Map()
  /** Below it every record was acknowledged at `sync`, or kept by a recovery; and the same at any level. */
  durableEnd = 0
  acknowledgedEnd = 0
  /** The log may begin no later than `firstLimit`, and no earlier than `trimmed`. */
  firstLimit = 0
  trimmed = 0
  uuid = undefined
  /** By seq: the id that is known to stand there, or VOID. */
  #placed = []
  /** Ids that may stand at any seq that is not known: appended, neither acknowledged nor gone. */
  #open = new Set()
  #killed = new Set()
  /** The most seqs that each member can have reserved when it was killed. */
  #largestBatch = new Map()

  /** Throws where the workload itself saw what must not be. */
  add(line) {
    const [kind, ...words] = line.split(' ')
    const number = Number(words[0])
    if (kind === 'i') this.#intend(number, words.slice(1).map(Number))
    else if (kind === 'a') this.#acknowledged(number, Number(words[1]), Number(words[2]), words[3])
    else if (kind === 'l') this.#reached(number + 1, words[1])
    else if (kind === 'k') this.#killed.add(number)
    else if (kind === 'r') this.firstLimit = Math.max(this.firstLimit, number)
    else if (kind === 'R') this.trimmed = Math.max(this.trimmed, number)
    else if (kind === 'o') this.#opened(number, words[1], Number(words[2]), words.slice(3))
    else throw new Error(`what is the note ${line}?`)
  }

  /** What was only in memory may be gone from here on. */
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
        throw new Error(`seq ${seq + i} was acknowledged for id ${id + i}, and is of ${known}`)
      this.#placed[seq + i] = id + i
      this.#open.delete(id + i)
    }
    this.#reached(seq + count, level)
  }

  #reached(end, level) {
    this.acknowledgedEnd = Math.max(this.acknowledgedEnd, end)
    if (SYNCED_LEVELS.includes(level)) this.durableEnd = Math.max(this.durableEnd, end)
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

  /** Records that the log which ends before `next` has lost, by seq as far as that is known. */
  lostFrom(next) {
    return this.#placed.slice(next).flatMap((id) => (id === undefined || id === VOID ? [] : [this.records.get(id)]))
  }

  /** Whether a log may hold `ids` from `first` on: undefined, or what is wrong with it. */
  whyNot({ first, next, uuid, ids }) {
    if (this.uuid !== undefined && uuid !== this.uuid) return `the log ${this.uuid} is now ${uuid}`
    if (next < this.acknowledgedEnd) return `seq ${next} is lost: those below ${this.acknowledgedEnd} were acknowledged`
    if (first + ids.length !== next) return `${ids.length} seqs from ${first} on do not end before ${next}`
    if (next > 0 && first < this.trimmed) return `seq ${first} is back: all before ${this.trimmed} were trimmed`
    if (next > 0 && first > this.firstLimit) return `the log begins at ${first}, trimmed was to ${this.firstLimit}`
    return this.#whyNotPlaced(first, ids) ?? this.#whyNotOrdered(first, ids) ?? this.#whyNotVoids(first, ids)
  }

  #whyNotPlaced(first, ids) {
    for (const [i, id] of ids.entries()) {
      const known = this.#placed[first + i]
      if (known === undefined ? id === VOID || this.#open.has(id) : known === id) continue
      const was = known === undefined ? 'which was gone, or never appended' : `and ${known} was known to be there`
      return `seq ${first + i} is of ${id}, ${was}`
    }
    return undefined
  }

  /** Each member's records in its order, and batches whole. */
  #whyNotOrdered(first, ids) {
    const last = new Map()
    for (const [i, id] of ids.entries()) {
      if (id === VOID) continue
      const before = last.get(memberOf(id)) ?? -1
      if (id <= before) return `seq ${first + i} is of ${id}, after ${before} of the same writer`
      last.set(memberOf(id), id)
      const { batch } = this.records.get(id)
      const begin = i - (id - batch.first)
      for (let k = 0; k < batch.count; ++k) {
        if (ids[begin + k] !== batch.first + k)
          return `a batch is torn: ${batch.count} from ${batch.first} on, seq ${first + begin + k} is of ${ids[begin + k]}`
      }
    }
    return undefined
  }

  /** A writer reserves one place at a time, so that each one that was killed leaves one void at most. */
  #whyNotVoids(first, ids) {
    const voids = ids.filter((id) => id === VOID).length
    let allowed = this.#placed.slice(0, first).filter((id) => id === VOID).length
    for (const member of this.#killed) allowed += this.#largestBatch.get(member) ?? 0
    return voids <= allowed ? undefined : `${voids} seqs are void, and writers that died can have left ${allowed}`
  }
}
