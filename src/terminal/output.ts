/** Output of commands to stdout: bytes in large pieces, lines of JSON, tables, formatted numbers. */
import { fstatSync, writeSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { clearBar } from './progress.js'
import { COLOURED, PLAIN, renderTable } from './table.js'
import { visible } from './visible.js'

const CHUNK_BYTES = 256 * 1024
const NEWLINE = 10
const PREFIX_BYTES = 4
const MIN_TEXT_COLUMNS = 20
const DEFAULT_COLUMNS = 80

/** The reader of stdout has closed it. This is not a failure of the command. */
export class OutputClosedError extends Error {}

/** The delimiter of a record: none, a newline after it, or its length (u32, little-endian) before it. */
export type OutputFraming = 'none' | 'line' | 'length'

/** Collects records and writes them in large pieces. Each write waits until the previous piece is written. */
export class OutputSink {
  readonly #chunk: Buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #used = 0

  /** Adds a record. Returns false if there is no room: then call `write` with the record. */
  put(data: Uint8Array, framing: OutputFraming = 'none'): boolean {
    const start = this.#used + (framing === 'length' ? PREFIX_BYTES : 0)
    const end = start + data.length + (framing === 'line' ? 1 : 0)
    if (end > CHUNK_BYTES) return false
    if (framing === 'length') this.#chunk.writeUInt32LE(data.length, this.#used)
    this.#chunk.set(data, start)
    if (framing === 'line') this.#chunk[end - 1] = NEWLINE
    this.#used = end
    return true
  }

  /** Writes the collected records, then adds this one. If it is too long for the buffer, writes it too. */
  async write(data: Uint8Array, framing: OutputFraming = 'none'): Promise<void> {
    await this.flush()
    if (this.put(data, framing)) return
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix.writeUInt32LE(data.length)
    if (framing === 'length') await writeOut(prefix)
    await writeOut(data)
    if (framing === 'line') await writeOut('\n')
  }

  async flush(): Promise<void> {
    if (this.#used === 0) return
    const piece = this.#chunk.subarray(0, this.#used)
    this.#used = 0
    await writeOut(piece)
  }
}

/** Writes to stdout and waits until the data is written. Throws OutputClosedError if the reader has closed stdout. */
export async function writeOut(data: Uint8Array | string): Promise<void> {
  const { stdout } = process
  if (stdout.isTTY) clearBar()
  try {
    if (isFile(stdout.fd)) return writeWhole(stdout.fd, data)
    await new Promise<void>((resolve, reject) => {
      stdout.write(data, (error) => (error ? reject(error) : resolve()))
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') throw new OutputClosedError()
    throw Object.assign(error as Error, { path: 'stdout' })
  }
}

function isFile(fd: number | undefined): boolean {
  return fd !== undefined && fstatSync(fd).isFile()
}

/** On a disk that becomes full, a file takes a part of the bytes. Node's stdout drops the others without an error. */
function writeWhole(fd: number, data: Uint8Array | string): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
}

/** Writes a command's report on completed work. A closed stdout is not an error. */
export async function writeSummary(text: string): Promise<void> {
  try {
    await writeOut(text)
  } catch (error) {
    if (!(error instanceof OutputClosedError)) throw error
  }
}

export function writeJson(value: unknown): Promise<void> {
  return writeOut(`${JSON.stringify(value)}\n`)
}

/** Formats names and values as two columns, of which the first is padded and the second is wrapped. */
export function formatFields(
  fields: readonly (readonly [string, string | number])[],
  columns: number = terminalColumns(),
): string {
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields
    .map(([name, value]) => formatWrapped(`${name.padEnd(width)}  `, visible(String(value)), columns))
    .join('')
}

/**
 * Formats `head` followed by `text`. `text` is wrapped at blanks to the width of the terminal, and its further lines
 * are indented to the end of `head`. If the output is not a terminal, `text` is not wrapped.
 */
export function formatWrapped(head: string, text: string, columns: number = terminalColumns()): string {
  const indent = stripVTControlCharacters(head).length
  const room = Math.max(MIN_TEXT_COLUMNS, columns - indent)
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  lines.push(line)
  return `${head}${lines.join(`\n${' '.repeat(indent)}`)}\n`
}

function terminalColumns(output: NodeJS.WriteStream = process.stdout): number {
  return output.isTTY === true ? output.columns || DEFAULT_COLUMNS : Number.POSITIVE_INFINITY
}

export function writeErr(text: string): void {
  clearBar()
  process.stderr.write(text)
}

/** Writes a message to stderr, wrapped as `formatWrapped` does. */
export function writeMessage(head: string, text: string): void {
  writeErr(formatWrapped(head, visible(text), terminalColumns(process.stderr)))
}

/**
 * Formats a table with a header. If the table is wider than `columns`, formats each row as a list of fields instead.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number = process.stdout.columns || DEFAULT_COLUMNS,
): string {
  const aligns = head.map((_, column) => (column === 0 ? 'left' : 'right'))
  const cells = rows.map((row) => row.map(visible))
  const table = renderTable(head, cells, aligns, useColour() ? COLOURED : PLAIN)
  if (stripVTControlCharacters(table.slice(0, table.indexOf('\n'))).length <= columns) return `${table}\n`
  return rows.map((row) => formatFields(head.map((name, i) => [name, row[i] ?? '']))).join('\n')
}

const COLOURS = { green: 32, yellow: 33, red: 31, grey: 90 } as const

/** Colours `text` on a terminal. */
export function paint(text: string, colour: keyof typeof COLOURS): string {
  return useColour() ? `\x1b[${COLOURS[colour]}m${text}\x1b[39m` : text
}

export function useColour(): boolean {
  return process.stdout.isTTY === true && !process.env['NO_COLOR']
}

/** Formats 1536 as "1.5 KiB". */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Formats 2000 as "2,000". Does not use Intl.NumberFormat, which takes 10 ms to load. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Formats milliseconds since 1970 as ISO 8601. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** Formats a duration with its largest unit: "3 s", "12 min", "5 h", "9 days". */
export function formatDuration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.floor(seconds)} s`
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}

/** "1 record", "2,000 records". */
export function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** "seq 0 to 99", "seq 0", or "no records". */
export function formatSeqs(firstSeq: number, nextSeq: number): string {
  if (nextSeq <= firstSeq) return 'no records'
  return nextSeq === firstSeq + 1 ? `seq ${firstSeq}` : `seq ${firstSeq} to ${nextSeq - 1}`
}

/** "synced up to 99", or "none synced". */
export function formatSynced(syncedSeq: number): string {
  return syncedSeq === -1 ? 'none synced' : `synced up to ${syncedSeq}`
}

/** Writes a warning to stderr; with `json`, as one JSON object. */
export function warn(code: string, message: string, json: boolean, details: Record<string, unknown> = {}): void {
  if (json) writeErr(`${JSON.stringify({ warning: { code, message, ...details } })}\n`)
  else writeMessage('durlog: warning: ', message)
}
