import * as zlib from 'node:zlib'

/** For each byte, its CRC-32. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) === 1 ? 0xedb88320 : 0)
  return crc >>> 0
})

/** As `crc32` of node:zlib, which Electron 25 does not have. */
export function crc32WithTable(data: string | Uint8Array, before = 0): number {
  let crc = ~before
  for (const byte of Buffer.from(data as Uint8Array)) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] as number)
  return ~crc >>> 0
}

const crc32: typeof crc32WithTable = zlib.crc32 ?? crc32WithTable

/**
 * The CRC-32 (as in zip files) of the text `<uuid>:<seq>:<timestamp>:` and the payload. The same payload in another
 * log, or with another seq or timestamp, has another checksum.
 */
export function recordCrc(uuid: string, seq: number, timestamp: number, data: Uint8Array): number {
  return crc32(data, crc32(`${uuid}:${seq}:${timestamp}:`))
}
