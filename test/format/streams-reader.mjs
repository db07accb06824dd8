// A second reader of folders of streams, written only from docs/FORMAT.md: it uses no code of src/.
// As a program, node test/format/streams-reader.mjs DIR prints each stream's records as JSON lines.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { crc32c, readLog } from './independent-reader.mjs'

const KINDS = [undefined, 'append', 'end', 'deletion', 'creation']
const ENCODINGS = [undefined, 'json', 'utf8', 'buffer']
const INDEX_ENTRY_BYTES = 18
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$/s

const escaped = (byte) => `%${byte.toString(16).padStart(2, '0')}`

export function fileNameOf(stream) {
  const bytes = Buffer.from(stream)
  const parts = [...bytes].map((byte, at) => {
    const character = String.fromCharCode(byte)
    const isKept = /[a-z0-9._-]/.test(character) && !(character === '.' && (at === 0 || at === bytes.length - 1))
    return isKept ? character : escaped(byte)
  })
  if (DEVICE.test(stream)) parts[0] = escaped(bytes[0])
  const name = parts.join('')
  return name.length > 180 ? `${name.slice(0, 110)}~${createHash('sha256').update(bytes).digest('hex')}` : name
}

/** A record of the main log. */
function changeOf({ seq: position, data, continues }) {
  const kind = KINDS[data[0] & 0x7f]
  const numberBytes = (data[0] & 0x80) === 0 ? 6 : 8
  const flags = data[1]
  const encoding = ENCODINGS[flags >> 6]
  if (kind === undefined || encoding === undefined) throw new Error(`record ${position} is no change of a stream`)
  let at = 16 + data.readUInt16LE(2)
  const change = {
    kind,
    encoding,
    position,
    stream: data.toString('utf8', 16, at),
    seq: data.readUIntLE(4, 6),
    timestamp: data.readUIntLE(10, 6),
    existing: (flags & 8) !== 0,
    grouped: (flags & 32) !== 0,
    continues: (flags & 2) !== 0,
  }
  if (change.continues !== continues) throw new Error(`record ${position} and the log differ about its batch`)
  if ((flags & 1) !== 0) {
    const idAt = at + 2 + 2 * numberBytes
    const end = idAt + data.readUInt16LE(at)
    const numberAt = (start) => (numberBytes === 6 ? data.readUIntLE(start, 6) : Number(data.readBigUInt64LE(start)))
    change.producer = {
      id: data.toString('utf8', idAt, end),
      epoch: numberAt(at + 2),
      seq: numberAt(at + 2 + numberBytes),
    }
    at = end
  }
  if ((flags & 4) !== 0) at += 14
  if ((flags & 16) !== 0) {
    change.writerSeq = data.subarray(at + 2, at + 2 + data.readUInt16LE(at))
    at += 2 + change.writerSeq.length
  }
  change.value = data.subarray(at)
  return change
}

function decoded(encoding, bytes) {
  return encoding === 'buffer' ? bytes : JSON.parse(bytes.toString())
}

/** The entries of an index. */
function indexEntries(bytes) {
  const entries = []
  for (let at = 0; at + INDEX_ENTRY_BYTES <= bytes.length; at += INDEX_ENTRY_BYTES)
    entries.push({
      end: bytes.readUIntLE(at, 6),
      timestamp: bytes.readUIntLE(at + 6, 6),
      position: bytes.readUIntLE(at + 12, 6),
    })
  return entries
}

/** The records in the files of a stream, by the members `older` and `disk` of the catalog. */
function storedRecords(dir, stream, options, files) {
  const afterGap = files.findLastIndex(([first], at) => at > 0 && files[at - 1][1] !== first)
  return files.slice(Math.max(afterGap, 0)).flatMap((file) => fileRecords(dir, stream, options, file))
}

/** The records in one file of a stream, by its array in the catalog. */
function fileRecords(dir, stream, { encoding, retention }, [first, next, length, checksum, latest]) {
  if (next === first) return []
  const name = fileNameOf(stream) + (retention === undefined ? '' : `~${String(first).padStart(20, '0')}`)
  const file = readFileSync(join(dir, 'streams', name + (encoding === 'buffer' ? '.frames' : '.jsonl'))).subarray(
    0,
    length,
  )
  if (file.length !== length || crc32c(file) !== checksum) throw new Error(`the file of ${stream} is damaged`)
  const newest = indexEntries(Buffer.from(latest, 'base64'))
  const inFile = next - first - newest.length
  const index = inFile === 0 ? [] : indexEntries(readFileSync(join(dir, 'index', name))).slice(0, inFile)
  let start = 0
  return [...index, ...newest].map(({ end, timestamp, position }, at) => {
    const bytes = file.subarray(start, end)
    start = end
    return { seq: first + at, value: recordValue(stream, encoding, bytes), timestamp, position }
  })
}

function recordValue(stream, encoding, bytes) {
  if (encoding !== 'buffer') {
    const line = bytes.toString()
    if (line.indexOf('\n') !== line.length - 1)
      throw new Error(`the file of ${stream} has no line where its index has one`)
    return JSON.parse(line)
  }
  const value = bytes.subarray(8)
  if (bytes.readUInt32LE(0) !== value.length || bytes.readUInt32LE(4) !== crc32c(value))
    throw new Error(`a frame of ${stream} is damaged`)
  return value
}

class Folder {
  /** Those that exist, and those that are deleted but kept. */
  streams = new Map()
  #dir

  constructor(dir) {
    this.#dir = dir
  }

  loadCatalog() {
    const entries = new Map()
    let commit
    let group = []
    for (const { data } of readLog(join(this.#dir, 'catalog')).records) {
      const record = JSON.parse(data.toString())
      if (record.kind === 'begin') group = []
      else if (record.kind === 'stream' || record.kind === 'gone') group.push(record)
      else if (record.kind !== 'commit') continue
      else {
        if (record.version > 2) throw new Error(`version ${record.version} of the catalog`)
        commit = record
        for (const entry of group) {
          if (entry.kind === 'gone') entries.delete(entry.name)
          else entries.set(entry.name, entry)
        }
        group = []
      }
    }
    for (const entry of entries.values()) {
      const { name, ended, gone, writerSeq, meta, disk, older = [], kept, producers = [] } = entry
      const options = typeof meta === 'string' ? { encoding: meta } : meta
      this.streams.set(name, {
        options,
        ended: ended === true,
        gone: gone === true,
        writerSeq: writerSeq === undefined ? undefined : Buffer.from(writerSeq),
        first: [...older, disk][0][0],
        next: kept?.[0] ?? disk[1],
        missing: kept && { from: kept[1], next: disk[1] },
        producers: new Map(producers.map(([id, epoch, seq]) => [id, { epoch, seq }])),
        stored: () => storedRecords(this.#dir, name, options, [...older, disk]),
        own: [],
      })
    }
    return commit
  }

  /** A record of the main log before the position of the catalog: only a stream whose files are behind needs it. */
  applyEarlier({ kind, stream: name, seq, encoding, value, timestamp, position }) {
    const stream = this.streams.get(name)
    const missing = stream?.missing
    if (missing === undefined || kind !== 'append' || position < missing.from || seq !== missing.next) return
    stream.own.push({ seq: missing.next++, value: decoded(encoding, value), timestamp, position })
  }

  /** Applies a batch of the main log if it counts. */
  apply(batch) {
    const before = new Map([...this.streams].map(([name, stream]) => [name, copyOf(stream)]))
    const decided = batch.length > 1 && batch[1].grouped ? batch.slice(0, 1) : batch
    for (const change of batch) {
      if (decided.includes(change) && !this.#counts(change)) {
        this.streams = before
        return
      }
      this.#change(change)
    }
  }

  #counts({ kind, stream: name, seq, existing, encoding, producer, writerSeq, value }) {
    const stream = this.streams.get(name)
    if (stream?.gone) return false
    if (kind === 'creation') return stream === undefined && this.#canCreate(JSON.parse(value.toString()))
    if (producer !== undefined && !continuesProducer(stream, producer)) return false
    if (stream === undefined) return kind === 'append' && seq === 0 && !existing
    if (seq !== stream.next) return false
    if (kind === 'deletion') return true
    if (stream.ended) return false
    if (kind === 'end') return true
    const isGreater =
      writerSeq === undefined || stream.writerSeq === undefined || writerSeq.compare(stream.writerSeq) > 0
    return encoding === stream.options.encoding && isGreater
  }

  #canCreate({ encoding, fork }) {
    if (fork === undefined) return true
    const source = this.streams.get(fork.stream)
    if (source === undefined || source.gone || source.options.encoding !== encoding) return false
    return source.next >= fork.seq + (fork.bytes > 0 ? 1 : 0)
  }

  #change({ kind, stream: name, encoding, value, timestamp, position, producer, writerSeq }) {
    if (!this.streams.has(name))
      this.streams.set(name, newStream(kind === 'creation' ? JSON.parse(value.toString()) : { encoding }))
    const stream = this.streams.get(name)
    if (producer !== undefined) stream.producers.set(producer.id, { epoch: producer.epoch, seq: producer.seq })
    if (writerSeq !== undefined) stream.writerSeq = writerSeq
    if (kind === 'append') stream.own.push({ seq: stream.next++, value: decoded(encoding, value), timestamp, position })
    else if (kind === 'end') stream.ended = true
    else if (kind === 'deletion') this.#remove(name)
  }

  #remove(name) {
    const forks = [...this.streams.values()].filter(({ options }) => options.fork?.stream === name)
    const stream = this.streams.get(name)
    if (forks.length > 0) {
      stream.gone = true
      return
    }
    this.streams.delete(name)
    const source = this.streams.get(stream.options.fork?.stream)
    if (source?.gone) this.#remove(stream.options.fork.stream)
  }

  /** Its records, and before them those of its source. */
  recordsOf(stream) {
    const { fork } = stream.options
    const own = [...stream.stored(), ...stream.own]
    if (fork === undefined || stream.first !== fork.seq) return own
    return [...this.recordsOf(this.streams.get(fork.stream)).filter(({ seq }) => seq < fork.seq), ...own]
  }
}

function newStream(options) {
  const next = options.fork?.seq ?? 0
  const producers = new Map()
  return {
    options,
    ended: false,
    gone: false,
    writerSeq: undefined,
    first: next,
    next,
    producers,
    stored: () => [],
    own: [],
  }
}

function copyOf(stream) {
  return { ...stream, producers: new Map(stream.producers), own: [...stream.own] }
}

function continuesProducer(stream, { id, epoch, seq }) {
  const known = stream?.producers.get(id)
  if (known === undefined || epoch > known.epoch) return seq === 0
  return epoch === known.epoch && seq === known.seq + 1
}

/** By name: each stream with its options, its records and whether it has ended. */
export function readStreams(dir) {
  const folder = new Folder(dir)
  const { log: uuid, position, voids } = folder.loadCatalog()
  const log = readLog(join(dir, 'log'))
  if (log.uuid !== uuid.replaceAll('-', '') || position < log.firstSeq || position > log.nextSeq)
    throw new Error('the catalog and the main log do not belong together')
  let batch = []
  for (const record of log.records) {
    if (record.seq < position) {
      if (!voids.includes(record.seq)) folder.applyEarlier(changeOf(record))
      continue
    }
    batch.push(changeOf(record))
    if (batch.at(-1).continues) continue
    folder.apply(batch)
    batch = []
  }
  const found = new Map()
  for (const [name, stream] of folder.streams)
    if (!stream.gone)
      found.set(name, { options: stream.options, ended: stream.ended, records: folder.recordsOf(stream) })
  return found
}

if (argv[1] === fileURLToPath(import.meta.url))
  for (const [stream, { records }] of readStreams(argv[2]))
    for (const record of records) console.log(JSON.stringify({ stream, ...record }))
