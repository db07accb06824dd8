/** `durlog streams DIR import`: imports existing .jsonl files into streams. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { accessOf } from '../../streams/access.js'
import { RECORD_MAX_BYTES } from '../../streams/items.js'
import type { RemoteStreams } from '../../streams/processes/remote-streams.js'
import { RECENT_APPENDS } from '../../streams/state.js'
import type { Stream } from '../../streams/types.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCounted, warn, writeJson, writeOut } from '../../terminal/output.js'
import { visible } from '../../terminal/visible.js'
import type { StreamsFlags } from '../commands/streams.js'
import { isBlank, LineSplitter, RECORD_TOO_LONG } from '../input.js'
import { timeIn } from '../records.js'
import { type Damage, damageOf } from './judge-line.js'
import { storedJson } from './stored-json.js'

const READ_BYTES = 1 << 18
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
const POLL_MS = 100
/** The largest number of appends in flight. */
const WINDOW = 256

interface BadLine {
  file: string
  line: number
  damage: Damage
  text: string
  /** The bytes of a line that is not UTF-8. */
  base64?: string
}

/** Imports files. Without `streams`, only reports their lines. */
export async function importFiles(
  streams: RemoteStreams<unknown> | undefined,
  files: readonly string[],
  flags: StreamsFlags,
): Promise<void> {
  const imports = files.map((file) => new FileImport(file, streams, flags))
  try {
    for (const one of imports) await one.open()
    for (const one of imports) await one.read(flags.watch !== true)
    for (;;) {
      for (const one of imports) await one.report()
      if (!flags.watch) return
      await wait(POLL_MS)
      for (const one of imports) await one.read(false)
    }
  } finally {
    for (const one of imports) await one.close()
  }
}

class FileImport {
  readonly #path: string
  readonly #name: string
  readonly #flags: StreamsFlags
  readonly #streams: RemoteStreams<unknown> | undefined
  readonly #stream: Stream<unknown> | undefined
  readonly #splitter = new LineSplitter(RECORD_MAX_BYTES, RECORD_TOO_LONG)
  /** The producer id, which is derived from the file's path: if an import is repeated, no line is stored twice. */
  readonly #producerId: string
  #file: FileHandle | undefined
  #offset = 0
  #line = 0
  #records = 0
  /** The number of records that earlier imports of the file have stored. */
  #earlier = 0
  #stored = 0
  #bad: BadLine[] = []
  #reported = { records: -1, bad: 0 }
  #pending: Promise<void>[] = []

  constructor(path: string, streams: RemoteStreams<unknown> | undefined, flags: StreamsFlags) {
    this.#path = path
    this.#flags = flags
    this.#name = flags.name ?? (flags.prefix ?? '') + basename(path).replace(/\.(jsonl|ndjson|json)$/, '')
    this.#streams = streams
    this.#stream = streams?.stream(this.#name)
    this.#producerId = `import ${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 32)}`
  }

  async open(): Promise<void> {
    try {
      this.#file = await open(this.#path, 'r')
    } catch (error) {
      throw new InputError(`can't read ${this.#path}: ${(error as Error).message}`)
    }
    if ((await this.#file.stat()).isDirectory()) throw new InputError(`can't read ${this.#path}: it is a folder`)
    if (this.#streams === undefined) return
    const last = await accessOf(this.#streams).producerSeq(this.#name, this.#producerId)
    this.#earlier = last === undefined ? 0 : last + 1
  }

  /** Reads the file to its current end. With `isLast`, a last line without a newline is a line too. */
  async read(isLast: boolean): Promise<void> {
    const file = this.#file as FileHandle
    await this.#checkReplaced(file)
    const chunk = Buffer.allocUnsafe(READ_BYTES)
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, this.#offset)
      if (bytesRead === 0) break
      this.#offset += bytesRead
      await this.#take(this.#splitter.push(Buffer.from(chunk.subarray(0, bytesRead))))
      if (this.#splitter.problem !== undefined) throw new InputError(`${this.#path}: ${this.#splitter.problem.message}`)
    }
    if (isLast) await this.#take(this.#splitter.end())
    await Promise.all(this.#pending)
    this.#pending = []
    // With `--watch`, the last line may have no newline yet.
    if (this.#records < this.#earlier - (isLast ? 0 : 1))
      throw this.#otherFile(`it has ${this.#records} intact lines, and ${this.#earlier} were imported`)
  }

  /** Prints the changes since the last report, and stores all damaged lines in a separate file. */
  async report(): Promise<void> {
    const { json, watch } = this.#flags
    for (const { file, line, damage, text } of this.#bad.slice(this.#reported.bad)) {
      if (json) await writeJson({ file, line, damage, text })
      else await writeOut(`${visible(`${file}:${line}: ${damage}: ${text.slice(0, 60)}`)}\n`)
    }
    const isNew = this.#reported.records !== this.#records || this.#reported.bad !== this.#bad.length
    if (this.#bad.length > this.#reported.bad) {
      process.exitCode = ExitCode.badInput
      await this.#keepAside()
    }
    this.#reported = { records: this.#records, bad: this.#bad.length }
    if (!isNew || (watch && !json && this.#records === 0)) return
    const [file, stream] = [this.#path, this.#name]
    if (json) return writeJson({ file, stream, intact: this.#records, stored: this.#stored, damaged: this.#bad.length })
    const stored = this.#streams === undefined ? 'nothing is stored' : `${this.#stored} new in the stream ${stream}`
    const intact = formatCounted(this.#records, 'intact line')
    await writeOut(`${visible(`${file}: ${intact}, ${stored}; ${this.#bad.length} damaged`)}\n`)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pending)
    await this.#file?.close()
  }

  async #take(lines: readonly Buffer[]): Promise<void> {
    for (const line of lines) {
      this.#line++
      const isMarked = this.#line === 1 && line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
      const bytes = isMarked ? line.subarray(BYTE_ORDER_MARK.length) : line
      if (isBlank(bytes)) continue
      const text = bytes.toString()
      const isText = isUtf8(bytes)
      const damage = damageOf(text) ?? (isText ? undefined : 'invalid')
      if (damage === undefined) await this.#append(bytes, JSON.parse(text))
      else {
        const original = isText ? {} : { base64: bytes.toString('base64') }
        this.#bad.push({ file: this.#path, line: this.#line, damage, text, ...original })
      }
    }
  }

  async #append(line: Buffer, value: unknown): Promise<void> {
    const { timeField } = this.#flags
    const place = `${this.#path}:${this.#line}`
    const timestamp = timeField === undefined ? undefined : timeIn(value, timeField, place)
    const seq = this.#records++
    // The seqs of earlier records are not known, so they are not compared.
    if (this.#stream === undefined || seq < this.#earlier - RECENT_APPENDS) return
    const done = this.#stream.append(storedJson(line, value), {
      producer: { id: this.#producerId, epoch: 0, seq },
      timestamp,
    })
    if (seq < this.#earlier) return this.#compare(value, (await done).seq)
    const counted = done.then(({ duplicate }) => {
      if (!duplicate) this.#stored++
    })
    // Awaited later, in order: a rejection before that must not count as unhandled.
    counted.catch(() => {})
    this.#pending.push(counted)
    if (this.#pending.length >= WINDOW) await this.#pending.shift()
  }

  /** Throws if an earlier import has stored another value than `value` as the record `seq`. -1: the seq is not known. */
  async #compare(value: unknown, seq: number): Promise<void> {
    const info = await this.#stream?.info()
    if (info === undefined || seq < info.firstSeq) return
    for await (const record of (this.#stream as Stream<unknown>).read({ from: seq })) {
      if (JSON.stringify(record.value) === JSON.stringify(value)) return
      throw this.#otherFile(`line ${this.#line} differs from record ${seq} of the stream ${this.#name}`)
    }
  }

  /** The lines of such a file would be taken for lines that are already stored. */
  #otherFile(reason: string): InputError {
    return new InputError(
      `${this.#path} is not the file that was imported before: ${reason}; rename the file, or delete the stream to import the whole file again`,
    )
  }

  async #keepAside(): Promise<void> {
    if (this.#streams === undefined) return
    const folder = join(this.#streams.dir, 'changed')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const lines = this.#bad.map((bad) => `${JSON.stringify(bad)}\n`)
    const path = join(folder, `${this.#producerId.replace(' ', '-')}.jsonl`)
    await writeFile(path, lines.join(''), { mode: 0o600 })
    warn('KEPT_ASIDE', `the damaged lines of ${this.#path} are in ${path}`, this.#flags.json === true)
  }

  /** Throws if the file was replaced or shortened: its new records would have the producer seqs of the old ones. */
  async #checkReplaced(file: FileHandle): Promise<void> {
    // As bigint, because ids of NTFS and XFS may exceed 2^53.
    const opened = await file.stat({ bigint: true })
    const now = await stat(this.#path, { bigint: true }).catch(() => undefined)
    if (opened.size >= this.#offset && (now === undefined || now.ino === opened.ino)) return
    throw new InputError(
      `${this.#path} was ${opened.size < this.#offset ? 'shortened' : 'replaced'} during the import: import the new file under another name`,
    )
  }
}
