import { crc32 } from 'node:zlib'

/** CRC-32 (as zip has it) of `<uuid>:<seq>:<timestamp>:` and the payload: a record at another place has another one. */
export function recordCrc(uuid: string, seq: number, timestamp: number, data: Uint8Array): number {
  return crc32(data, crc32(`${uuid}:${seq}:${timestamp}:`))
}
