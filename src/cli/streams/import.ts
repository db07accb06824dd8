/** `durlog streams DIR import`: imports existing .jsonl files into streams. */
import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { RemoteStreams } from '../../streams/processes/remote-streams.js'
import type { Stream } from '../../streams/types.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCounted, warn, writeJson, writeOut } from '../../terminal/output.js'
import type { StreamsFlags } from '../commands/streams.js'
import { isBlank, LineSplitter } from '../input.js'
import { timeIn } from '../records.js'
import { type Damage, damageOf } from './judge-line.js'

const READ_BYTES = 1 << 18
const MAX_LINE_BYTES = 8 << 20
const POLL_MS = 100
/** The largest number of appends in flight. */
const WINDOW = 256

interface BadLine {
  file: string
  line: number
  damage: Damage
  text: string
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
  readonly #splitter = new LineSplitter(MAX_LINE_BYTES)
  /** The producer id, which is derived from the file's path: if an import is repeated, no line is stored twice. */
  readonly #producerId: string
  #file: FileHandle | undefined
  #offset = 0
  #line = 0
  #records = 0
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
  }

  /** Prints the changes since the last report, and stores all damaged lines in a separate file. */
  async report(): Promise<void> {
    const { json, watch } = this.#flags
    for (const { file, line, damage, text } of this.#bad.slice(this.#reported.bad)) {
      if (json) await writeJson({ file, line, damage, text })
      else await writeOut(`${file}:${line}: ${damage}: ${text.slice(0, 60)}\n`)
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
    await writeOut(`${file}: ${formatCounted(this.#records, 'intact line')}, ${stored}; ${this.#bad.length} damaged\n`)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pending)
    await this.#file?.close()
  }

  async #take(lines: readonly Buffer[]): Promise<void> {
    for (const bytes of lines) {
      this.#line++
      if (isBlank(bytes)) continue
      const text = bytes.toString()
      const damage = damageOf(text)
      if (damage !== undefined) this.#bad.push({ file: this.#path, line: this.#line, damage, text })
      else {
        this.#append(JSON.parse(text))
        if (this.#pending.length >= WINDOW) await this.#pending.shift()
      }
    }
  }

  #append(value: unknown): void {
    const { timeField } = this.#flags
    const place = `${this.#path}:${this.#line}`
    const timestamp = timeField === undefined ? undefined : timeIn(value, timeField, place)
    const producer = { id: this.#producerId, epoch: 0, seq: this.#records++ }
    if (this.#stream === undefined) return
    const done = this.#stream.append(value, { producer, timestamp }).then(({ duplicate }) => {
      if (!duplicate) this.#stored++
    })
    // Awaited later, in order: a rejection before that must not count as unhandled.
    done.catch(() => {})
    this.#pending.push(done)
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
    const opened = await file.stat()
    const now = await stat(this.#path).catch(() => undefined)
    if (opened.size >= this.#offset && (now === undefined || now.ino === opened.ino)) return
    throw new InputError(
      `${this.#path} was ${opened.size < this.#offset ? 'shortened' : 'replaced'} during the import: import the new file under another name`,
    )
  }
}
