// The promises that the notes make about a log whose retention waits for its cursors, and about its destination.
//
//   c <cursor> <position>          the cursor was opened at <position>
//   k <cursor> <position>          a commit that will move it to <position>
//   K <cursor> <position> <level>  that commit has reached <level>
//   d <seq> <crc>                  the destination has stored the record
//   i, o, a, R                     as in notes.mjs; a trim removes no record that a cursor has still to read
import { Model } from '../model.mjs'
import { CURSORS } from './log.mjs'

const SYNCED_LEVELS = ['sync', 'full']

export class ConsumerModel extends Model {
  /** By name: no record before `durable` may be delivered again, and none from `furthest` on was ever committed. */
  cursors = new Map(CURSORS.map((name) => [name, { durable: 0, furthest: 0 }]))
  /** The checksums of the records that the destination holds, by seq. */
  destination = []
  /** A violation of the order in which it received them. */
  disorder = undefined

  add(line) {
    const [kind, ...words] = line.split(' ')
    if (kind === 'd') this.#delivered(Number(words[0]), Number(words[1]))
    else if (kind === 'c') this.#opened(words[0], Number(words[1]))
    else if (kind === 'k') this.#move(words[0], Number(words[1]), 'furthest')
    else if (kind === 'K' && SYNCED_LEVELS.includes(words[2])) this.#move(words[0], Number(words[1]), 'durable')
    else if (kind !== 'K') super.add(line)
    // The shipper's cursor is at the end of the destination.
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

  /** Returns undefined if the cursor `name` may be at `position`, otherwise the reason. */
  whyNotAt(name, position) {
    const { durable, furthest } = this.cursors.get(name)
    if (position < durable) return `the cursor ${name} is back at ${position}: ${durable} was committed at sync`
    if (position > furthest) return `the cursor ${name} is at ${position}, but was never moved beyond ${furthest}`
    return undefined
  }
}
