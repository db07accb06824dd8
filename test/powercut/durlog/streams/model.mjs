// The contents that the streams may have, by the notes of life.mjs and of the verifier.

import { KEPT, KEPT_RECORDS } from './folder.mjs'

/** A stream from its creation to its deletion. */
class Known {
  /** The numbers of appends that may be stored, in the order of the calls. */
  wanted = []
  /** By seq: the numbers of acknowledged appends. */
  acknowledged = []
  /** A deletion is in flight. */
  ending = false
  /** An end was called; it was acknowledged. */
  mayBeEnded = false
  isEnded = false
}

export class StreamsModel {
  #streams = new Map()
  /** The appends of each atomic batch. */
  #batches = []
  /** The greatest first seq of the stream with retention that was noted. */
  #first = 0
  /** By epoch, by seq of the producer: the number of the append. */
  #produced = []

  known(name) {
    if (!this.#streams.has(name)) this.#streams.set(name, new Known())
    return this.#streams.get(name)
  }

  get names() {
    return [...this.#streams.keys()]
  }

  add(line) {
    const [kind, ...rest] = line.split(' ')
    if (kind === 'i') this.#want(rest)
    else if (kind === 'a') this.known(rest[1]).acknowledged[Number(rest[2])] = Number(rest[0])
    else if (kind === 'p') this.#produce(...rest.map(Number))
    else if (kind === 'E') this.known(rest[0]).mayBeEnded = true
    else if (kind === 'e') this.known(rest[0]).isEnded = true
    else if (kind === 'D') this.known(rest[0]).ending = true
    else if (kind === 'd') this.#streams.set(rest[0], new Known())
    else if (kind === 'f') this.#first = Math.max(this.#first, Number(rest[0]))
    else if (kind === 's') this.#resolve(rest[0], rest[1] === '1')
  }

  #want(pairs) {
    const items = []
    for (let at = 0; at < pairs.length; at += 2) items.push({ n: Number(pairs[at]), name: pairs[at + 1] })
    for (const { n, name } of items) this.known(name).wanted.push(n)
    if (items.length > 1) this.#batches.push(items)
  }

  #produce(n, epoch, seq) {
    this.#produced[epoch] ??= []
    this.#produced[epoch][seq] = n
  }

  /** The appends of the producer's newest epoch, by its seq; undefined before the first one. */
  get newest() {
    const epoch = this.#produced.length - 1
    return epoch === -1 ? undefined : { epoch, numbers: this.#produced[epoch] }
  }

  /** Why `stored` is not possible: the producer's appends of an epoch are stored without a gap. */
  whyNotProduced(stored) {
    for (const [epoch, numbers] of this.#produced.entries()) {
      const missing = numbers?.findIndex((n) => !stored.has(n)) ?? -1
      const late = numbers?.findLastIndex((n) => stored.has(n)) ?? -1
      if (missing !== -1 && late > missing)
        return `append ${late} of the producer's epoch ${epoch} is stored, and ${missing} is not`
    }
    return undefined
  }

  whyNotEnded(name, ended) {
    const { mayBeEnded, isEnded } = this.known(name)
    if (ended && !mayBeEnded) return `${name} has ended, and no end was called`
    if (!ended && isEnded) return `${name} has not ended, and its end was acknowledged`
    return undefined
  }

  #resolve(name, exists) {
    const known = this.known(name)
    if (known.ending && !exists) this.#streams.set(name, new Known())
    known.ending = false
  }

  powerCut() {}

  /** Why the stream with retention cannot begin at the seq `first` and have `count` records. */
  whyNotFirst(first, count) {
    if (first < this.#first) return `${KEPT} begins at seq ${first}, and ${this.#first} was reported`
    if (first > 0 && count < KEPT_RECORDS) return `${KEPT} has ${count} records after removal`
    return undefined
  }

  /** Why the stream cannot hold the appends `found`, in the order of their seqs, which begin with `first`. */
  whyNot(name, found, first) {
    const { wanted, acknowledged, ending } = this.known(name)
    if (ending && found.length === 0) return undefined
    if (new Set(found).size < found.length) return `${name} has an append twice: ${found}`
    let at = 0
    for (const [index, n] of found.entries()) {
      const seq = first + index
      if (acknowledged[seq] !== undefined && acknowledged[seq] !== n)
        return `record ${seq} of ${name} is append ${n}, and ${acknowledged[seq]} was acknowledged`
      const calledAt = wanted.indexOf(n, at)
      if (calledAt === -1) return `record ${seq} of ${name} is append ${n}: it was not called, or is out of order`
      at = calledAt + 1
    }
    if (acknowledged.length > first + found.length)
      return `${name} ends at seq ${first + found.length}, and append ${acknowledged.at(-1)} was acknowledged with seq ${acknowledged.length - 1}`
    return undefined
  }

  /** Why `stored`, the numbers of all appends that were found, is not possible: a batch is stored as a whole. */
  whyNotBatches(stored) {
    for (const items of this.#batches) {
      const count = items.filter(({ n }) => stored.has(n)).length
      if (count > 0 && count < items.length)
        return `${count} of ${items.length} appends of the batch ${items[0].n} are stored`
    }
    return undefined
  }
}
