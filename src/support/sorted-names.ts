/** Names in ascending order, in blocks of limited length: adding a name does not move all later ones. */

const BLOCK_MAX = 512

export class SortedNames {
  /** None is empty. */
  readonly #blocks: string[][] = []

  add(name: string): void {
    const at = Math.min(this.#blockOf(name), this.#blocks.length - 1)
    const block = this.#blocks[at]
    if (block === undefined) {
      this.#blocks.push([name])
      return
    }
    const place = placeIn(block, name)
    if (block[place] === name) return
    block.splice(place, 0, name)
    // Names are often added in order, which fills a block only if little of it is moved to the next one.
    if (block.length > BLOCK_MAX)
      this.#blocks.splice(at + 1, 0, block.splice(place + 1 === block.length ? BLOCK_MAX : BLOCK_MAX / 2))
  }

  delete(name: string): void {
    const at = this.#blockOf(name)
    const block = this.#blocks[at]
    const place = block === undefined ? 0 : placeIn(block, name)
    if (block?.[place] !== name) return
    block.splice(place, 1)
    if (block.length === 0) this.#blocks.splice(at, 1)
  }

  /** The first name that is not before `name`. */
  from(name: string): string | undefined {
    const block = this.#blocks[this.#blockOf(name)]
    return block?.[placeIn(block, name)]
  }

  /** The first name after `name`. */
  after(name: string): string | undefined {
    // No text is between a name and the name with this character added.
    return this.from(`${name}\0`)
  }

  /** The number of names that begin with `prefix`. */
  count(prefix: string): number {
    let count = 0
    for (let at = this.#blockOf(prefix); at < this.#blocks.length; at++) {
      const block = this.#blocks[at] as string[]
      const begin = placeIn(block, prefix)
      if (block.at(-1)?.startsWith(prefix) === true) count += block.length - begin
      else {
        let end = begin
        while (block[end]?.startsWith(prefix) === true) end++
        return count + end - begin
      }
    }
    return count
  }

  /** The index of the first block whose last name is not before `name`; the number of blocks if there is none. */
  #blockOf(name: string): number {
    let [low, high] = [0, this.#blocks.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (((this.#blocks[middle] as string[]).at(-1) as string) < name) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The index of the first name of the block that is not before `name`. */
function placeIn(block: readonly string[], name: string): number {
  let [low, high] = [0, block.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((block[middle] as string) < name) low = middle + 1
    else high = middle
  }
  return low
}
