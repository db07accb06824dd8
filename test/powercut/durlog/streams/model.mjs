// The contents that the streams may have, by the notes of life.mjs and of the verifier.

/** A stream from its creation to its deletion. */
class Known {
  /** The numbers of appends that may be stored, in the order of the calls. */
  wanted = []
  /** By seq: the numbers of acknowledged appends. */
  acknowledged = []
  /** A deletion is in flight. */
  ending = false
}

export class StreamsModel {
  #streams = new Map()
  /** The appends of each atomic batch. */
  #batches = []

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
    else if (kind === 'D') this.known(rest[0]).ending = true
    else if (kind === 'd') this.#streams.set(rest[0], new Known())
    else if (kind === 's') this.#resolve(rest[0], rest[1] === '1')
  }

  #want(pairs) {
    const items = []
    for (let at = 0; at < pairs.length; at += 2) items.push({ n: Number(pairs[at]), name: pairs[at + 1] })
    for (const { n, name } of items) this.known(name).wanted.push(n)
    if (items.length > 1) this.#batches.push(items)
  }

  #resolve(name, exists) {
    const known = this.known(name)
    if (known.ending && !exists) this.#streams.set(name, new Known())
    known.ending = false
  }

  powerCut() {}

  /** Why the stream cannot hold the appends `found`, in the order of their seqs. */
  whyNot(name, found) {
    const { wanted, acknowledged, ending } = this.known(name)
    if (ending && found.length === 0) return undefined
    let at = 0
    for (const [seq, n] of found.entries()) {
      if (acknowledged[seq] !== undefined && acknowledged[seq] !== n)
        return `record ${seq} of ${name} is append ${n}, and ${acknowledged[seq]} was acknowledged`
      const index = wanted.indexOf(n, at)
      if (index === -1)
        return `record ${seq} of ${name} is append ${n}: it was not called, is there twice, or is out of order`
      at = index + 1
    }
    if (acknowledged.length > found.length)
      return `${name} has ${found.length} records, and append ${acknowledged.at(-1)} was acknowledged with seq ${acknowledged.length - 1}`
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
