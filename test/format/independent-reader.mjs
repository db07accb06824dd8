// A second reader of durlog's logs, written only from docs/FORMAT.md: it uses no code of src/.
// As a program, node test/format/independent-reader.mjs DIR prints the log as JSON lines.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

const HEADER_BYTES = 4096
const HEADER_COPIES = [0, 2048]
const SLOT_COPIES = [1024, 3072]
const MAGIC = Buffer.from('DURLOG\r\n', 'latin1')
const FRAME_BYTES = 24
const COMMITTED = 2
const PADDING = 3
const MARKER = 4
const VOID = 5
const MAX_PAYLOAD = 2 ** 27
const SEGMENT_NAME = /^\d{20}\.seg$/

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  return crc >>> 0
})

/** CRC-32C of the concatenated `parts`. */
export function crc32c(...parts) {
  let crc = 0xffffffff
  for (const part of parts) for (const byte of part) crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >>> 8)
  return ~crc >>> 0
}

const roundUp = (bytes) => Math.ceil(bytes / 8) * 8

/** The fields of one copy of a header; undefined if it is damaged. */
function headerCopy(file, at) {
  const copy = file.subarray(at, at + 64)
  if (copy.length < 64 || !copy.subarray(0, 8).equals(MAGIC)) return undefined
  if (crc32c(copy.subarray(0, 60)) !== copy.readUInt32LE(60)) return undefined
  const version = copy.readUInt32LE(8)
  if (version > 2) throw new Error(`format version ${version}`)
  if (version === 0) return undefined
  const segmentBytes = Number(copy.readBigUInt64LE(48))
  if (copy.readUInt32LE(12) !== HEADER_BYTES) return undefined
  if (segmentBytes % 4096 !== 0 || segmentBytes < 8192 || segmentBytes > 2 ** 30) return undefined
  return {
    uuid: copy.toString('hex', 16, 32),
    identity: Buffer.from(copy.subarray(16, 40)),
    baseTimeMs: Number(copy.readBigUInt64LE(40)),
    segmentBytes,
    recycled: (copy.readUInt32LE(56) & 1) === 1,
  }
}

function readHeader(file) {
  const copies = HEADER_COPIES.map((at) => (file.length < HEADER_BYTES ? undefined : headerCopy(file, at)))
  const header = copies[0] ?? copies[1]
  if (header === undefined) throw new Error('both copies of the header are damaged')
  return header
}

/** The synced end in the slot of a segment; 0n if it states none. */
function slotOf(file, header) {
  for (const at of SLOT_COPIES) {
    const crc = crc32c(header.identity, file.subarray(at, at + 8))
    if (crc === file.readUInt32LE(at + 8)) return file.readBigUInt64LE(at)
  }
  return 0n
}

const isLengthAllowed = (state, length) =>
  state === PADDING ||
  state === VOID ||
  (state === MARKER && length === 0) ||
  (state === COMMITTED && length > 0 && length <= MAX_PAYLOAD)

/** The frame at `at`; 'free' or 'broken' if there is none. `expected` is a bigint. */
function frameAt(file, at, header, expected) {
  const end = Math.min(file.length, header.segmentBytes)
  if (end - at < FRAME_BYTES) return 'free'
  const word = file.readUInt32LE(at)
  if (word === 0) return 'free'
  const length = word & 0xfffffff
  const state = word >>> 29
  if (!isLengthAllowed(state, length)) return 'broken'
  const bytes = roundUp(FRAME_BYTES + length)
  if (at + bytes > end) return 'broken'
  const head = Buffer.from(file.subarray(at, at + FRAME_BYTES))
  const crc = head.readUInt32LE(4)
  head.writeUInt32LE(0, 4)
  const payload = file.subarray(at + FRAME_BYTES, at + FRAME_BYTES + (state === COMMITTED ? length : 0))
  if (crc32c(header.identity, head, payload) !== crc) return 'broken'
  const seq = head.readBigUInt64LE(8)
  const unsynced = head.readUInt32LE(16)
  if (seq !== expected || (state === VOID ? 32 * unsynced > bytes : BigInt(unsynced) > seq)) return 'broken'
  return { state, bytes, seq, unsynced, ms: head.readUInt32LE(20), payload, continues: ((word >>> 28) & 1) === 1 }
}

/** The content of one segment: the records of complete batches, and the kind of its end. */
export function readSegment(file, firstSeq) {
  const header = readHeader(file)
  const segment = {
    header,
    records: [],
    markers: 0,
    syncedEnd: slotOf(file, header),
    end: HEADER_BYTES,
    nextSeq: firstSeq,
    endsWith: 'free',
  }
  let expected = BigInt(firstSeq)
  let batch = []
  for (let at = HEADER_BYTES; ; ) {
    const frame = frameAt(file, at, header, expected)
    if (typeof frame === 'string') {
      segment.endsWith = batch.length > 0 ? 'broken' : frame
      break
    }
    if (batch.length > 0 && frame.state !== COMMITTED) {
      segment.endsWith = 'broken'
      break
    }
    at += frame.bytes
    if (frame.state !== VOID && frame.seq - BigInt(frame.unsynced) > segment.syncedEnd)
      segment.syncedEnd = frame.seq - BigInt(frame.unsynced)
    if (frame.state === COMMITTED) {
      batch.push({
        seq: Number(frame.seq),
        data: frame.payload,
        timestamp: header.baseTimeMs + frame.ms,
        continues: frame.continues,
      })
      expected += 1n
      if (frame.continues) continue
    } else if (frame.state === MARKER) segment.markers += 1
    else if (frame.state === VOID) expected += BigInt(frame.unsynced)
    segment.records.push(...batch)
    batch = []
    segment.end = at
    segment.nextSeq = Number(expected)
  }
  return segment
}

/** The whole log. Throws if a segment does not lead to the next one. */
export function readLog(dir) {
  const names = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && SEGMENT_NAME.test(entry.name))
    .map((entry) => entry.name)
    .sort()
  const log = { uuid: '', firstSeq: Number.parseInt(names[0], 10), nextSeq: 0, syncedEnd: 0, records: [], segments: [] }
  log.nextSeq = log.firstSeq
  const left = new Map(names.map((name) => [Number.parseInt(name, 10), name]))
  for (let firstSeq = log.firstSeq; left.has(firstSeq); firstSeq = log.nextSeq) {
    const name = left.get(firstSeq)
    left.delete(firstSeq)
    const segment = readSegment(readFileSync(join(dir, name)), firstSeq)
    if (log.uuid !== '' && segment.header.uuid !== log.uuid) throw new Error(`${name} belongs to another log`)
    log.uuid = segment.header.uuid
    log.nextSeq = segment.nextSeq
    log.syncedEnd = Math.max(log.syncedEnd, Number(segment.syncedEnd))
    for (const record of segment.records) log.records.push(record)
    log.segments.push({ name, ...segment })
  }
  for (const name of left.values()) throw new Error(`${name} does not follow seq ${log.nextSeq - 1}`)
  return log
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { records, ...log } = readLog(argv[2])
  for (const { seq, timestamp, data } of records)
    console.log(JSON.stringify({ seq, timestamp, data: data.toString('base64') }))
  console.error(`uuid ${log.uuid}, seq ${log.firstSeq} to ${log.nextSeq - 1}, known synced below ${log.syncedEnd}`)
}
