// What the notes promise of a log whose retention waits for its cursors, and of the destination that it is shipped to.
//
//   c <cursor> <position>          the cursor is open there
//   k <cursor> <position>          a commit that brings it there
//   K <cursor> <position> <level>  and has reached that level
//   d <seq> <crc>                  the destination has stored the record
//   i, o, a, R                     as in notes.mjs; a trim goes no further than the cursors have got
import { Model } from '../model.mjs'
import { CURSORS } from './log.mjs'

const SYNCED_LEVELS = ['sync', 'full']

export class ConsumerModel extends Model {
  /** By name: no record before `durable` may come again, and none from `furthest` on was ever committed. */
  cursors = new Map(CURSORS.map((name) => [name, { durable: 0, furthest: 0 }]))
  /** The checksums of the records that the destination holds, by seq. */
  destination = []
  /** What was wrong with the order in which it got them. */
  disorder = undefined

  add(line) {
    const [kind, ...words] = line.split(' ')
    if (kind === 'd') this.#delivered(Number(words[0]), Number(words[1]))
    else if (kind === 'c') this.#opened(words[0], Number(words[1]))
    else if (kind === 'k') this.#move(words[0], Number(words[1]), 'furthest')
    else if (kind === 'K' && SYNCED_LEVELS.includes(words[2])) this.#move(words[0], Number(words[1]), 'durable')
    else if (kind !== 'K') super.add(line)
    // The shipper's cursor is where the destination is.
    this.firstLimit = Math.min(this.destination.length, ...[...this.cursors.values()].map(({ furthest }) => furthest))
  }

  #delivered(seq, crc) {
    const next = this.destination.length
    if (seq !== next) this.disorder ??= `record ${seq} was delivered where ${next} was next`
    this.destination.push(crc)
  }

  #opened(name, position) {
    const reason = this.whyNotAt(name, position)
    if (reason !== undefined) throw new Error(`a process died, and ${reason}`)
  }

  #move(name, position, which) {
    const cursor = this.cursors.get(name)
    cursor[which] = Math.max(cursor[which], position)
  }

  /** Whether that cursor may be there: undefined, or what is wrong with it. */
  whyNotAt(name, position) {
    const { durable, furthest } = this.cursors.get(name)
    if (position < durable) return `the cursor ${name} is back at ${position}: ${durable} was committed at sync`
    if (position > furthest) return `the cursor ${name} is at ${position}, and was never moved beyond ${furthest}`
    return undefined
  }
}
