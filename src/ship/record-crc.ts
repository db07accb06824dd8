import { crc32 } from 'node:zlib'

/**
 * The CRC-32 (as in zip files) of the text `<uuid>:<seq>:<timestamp>:` and the payload. The same payload in another
 * log, or with another seq or timestamp, has another checksum.
 */
export function recordCrc(uuid: string, seq: number, timestamp: number, data: Uint8Array): number {
  return crc32(data, crc32(`${uuid}:${seq}:${timestamp}:`))
}
