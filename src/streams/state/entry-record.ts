/** A record that was read from the main log. */
import type { LogPosition, LogRecord } from '../../index.js'
import { checksumOf } from '../../reader/record-checksum.js'
import { codecOf } from '../port/encoding.js'
import type { CommittedRecord } from '../port/types.js'
import type { Entry } from './entry.js'

export class EntryRecord implements CommittedRecord<unknown> {
  readonly stream: string
  readonly seq: number
  readonly value: unknown
  readonly timestamp: number
  readonly position: number
  readonly #log: Pick<LogPosition, 'uuid' | 'generation'>
  readonly #entry: LogRecord

  /** `log` is the main log, with its generation before `entry` was read. */
  constructor(log: Pick<LogPosition, 'uuid' | 'generation'>, entry: LogRecord, decoded: Entry) {
    const { stream, seq, timeMs, encoding, bytes, valueAt } = decoded
    this.stream = stream
    this.seq = seq
    this.value = codecOf(encoding).decode(bytes.subarray(valueAt))
    this.timestamp = timeMs
    this.position = entry.seq
    this.#log = log
    this.#entry = entry
  }

  /** Made when it is asked for, because a checksum costs as much as the rest of the record. */
  get logPosition(): LogPosition {
    const { uuid, generation } = this.#log
    return { uuid, generation, seq: this.position, checksum: checksumOf(uuid, this.#entry) }
  }
}
