// The payload of a record of the soak trial, by its place. The writer makes it; followers make it again and compare.

const HEAD_BYTES = 12

export function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6
}

/** The record `seq` of `era`. An era begins with each open of the log and with each truncation. */
export function recordOf(seq, era, bytes) {
  const record = Buffer.alloc(Math.max(bytes, HEAD_BYTES), (seq * 31 + era * 7) & 0xff)
  record.writeUIntLE(seq, 0, 6)
  record.writeUIntLE(era, 6, 6)
  return record
}

export function eraOf(record) {
  return record.readUIntLE(6, 6)
}

export function isWhole(record, seq) {
  return record.length >= HEAD_BYTES && record.equals(recordOf(seq, eraOf(record), record.length))
}
