import { crc32 } from 'node:zlib'

/** CRC-32 (that of zip) of `<uuid>:<seq>:<timestamp>:` and the payload, so it differs for the same payload at another place. */
export function recordCrc(uuid: string, seq: number, timestamp: number, data: Uint8Array): number {
  return crc32(data, crc32(`${uuid}:${seq}:${timestamp}:`))
}
