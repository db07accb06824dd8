import { native } from '../native/native.js'
import type { LogRecord } from '../types.js'

/** The checksum of a record for a `LogPosition`. */
export function checksumOf(uuid: string, { seq, timestamp, data }: LogRecord): number {
  return native.crc32c(native.crc32c(0, Buffer.from(`${uuid}:${seq}:${timestamp}:`)), data)
}
