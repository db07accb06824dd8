/** `durlog streams DIR import`: imports existing .jsonl files into streams. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { appendFile, type FileHandle, open, readdir, realpath, rm, stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Folder } from '../../streams/api/folder.js'
import { RECORD_MAX_BYTES } from '../../streams/port/encoding.js'
import { portOf } from '../../streams/port/port.js'
import type { Stream } from '../../streams/port/types.js'
import { RECENT_APPENDS } from '../../streams/state/state.js'
import { makeFolder, takeOwner } from '../../support/new-files.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCount, formatCounted, warn, writeMessage, writeSummary } from '../../terminal/output.js'
import type { Progress } from '../../terminal/progress.js'
import { visible } from '../../terminal/visible.js'
import { InputLines, isBlank } from '../input.js'
import { timeIn } from '../records.js'
import { withProgress } from '../with-progress.js'
import type { StreamsFlags } from './actions.js'
import { type Damage, damageOf } from './judge-line.js'
import { storedJson } from './stored-json.js'

/** For all files, because one is read at a time. A buffer for each of many small files would take much memory. */
const chunk = Buffer.allocUnsafe(1 << 18)
const POLL_MS = 100
/** The largest number of appends in flight. */
const WINDOW = 256

/** If there are more files, those without damage are only in the summary. */
const LISTED_FILES = 20

/** The files of a folder that are imported. */
const IN_FOLDER = /\.(jsonl|ndjson)$/
const EXTENSION = /\.(jsonl|ndjson|json)$/
/** The number of characters of a damaged line that are printed, and kept of a line that is too long. */
const SHOWN_CHARACTERS = 60

/** A reader of stdout that closes it does not end the import. */
function printJson(value: object): Promise<void> {
  return writeSummary(`${JSON.stringify(value)}\n`)
}

interface Source {
  path: string
  /** The name of the stream. */
  name: string
}

interface BadLine {
  file: string
  line: number
  damage: Damage | 'too long' | 'too deep' | 'no time'
  text: string
  /** The bytes of a line that is not UTF-8. */
  base64?: string
}

/**
 * Imports files, and the .jsonl files of folders. A file that cannot be imported is reported, and the others are
 * imported. `folder` is called after the first file was opened. Without it, only reports the lines.
 */
export async function importFiles(
  folder: (() => Promise<Folder<unknown>>) | undefined,
  dir: string,
  paths: readonly string[],
  flags: StreamsFlags,
): Promise<void> {
  const sources = (await Promise.all(paths.map((path) => sourcesIn(path, dir, flags)))).flat()
  refuseCollisions(sources)
  const summary = new Summary(flags)
  const imports = sources.map((source) => new FileImport(source, folder, flags))
  const silent = flags.json === true || flags.watch === true
  try {
    await withProgress({ label: 'import', total: await bytesOf(sources), silent }, async (progress) => {
      // Without --watch, one file is open at a time.
      for (const one of imports) await summary.attempt(one, () => one.import(progress, imports.length <= LISTED_FILES))
    })
    await summary.print(imports)
    while (flags.watch && summary.failed.size < imports.length) {
      await wait(POLL_MS)
      for (const one of imports) if (!summary.failed.has(one)) await summary.attempt(one, () => one.follow())
    }
  } finally {
    for (const one of imports) await one.close()
  }
}

/** The files to import for the argument `path`. */
async function sourcesIn(path: string, dir: string, flags: StreamsFlags): Promise<Source[]> {
  const prefix = flags.prefix ?? ''
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false
  if (!isFolder) return [{ path, name: flags.name ?? prefix + basename(path).replace(EXTENSION, '') }]
  if (flags.name !== undefined) throw new InputError(`--name is the name of a single stream, but ${path} is a folder`)
  const [folder, streams] = await Promise.all([realpath(path), realpath(dir).catch(() => resolve(dir))])
  if (`${folder}${sep}`.startsWith(`${streams}${sep}`))
    throw new InputError(`can't import ${path}: it is a folder of the streams themselves`)
  const found = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && IN_FOLDER.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
  if (found.length === 0) throw new InputError(`${path} has no file with the extension .jsonl or .ndjson`)
  return found.map((inside) => ({
    path: join(path, inside),
    name: prefix + inside.replace(EXTENSION, '').replaceAll(sep, '/'),
  }))
}

function refuseCollisions(sources: readonly Source[]): void {
  const paths = new Map<string, string>()
  for (const { path, name } of sources) {
    const other = paths.get(name)
    if (other !== undefined)
      throw new InputError(
        `${other} and ${path} would both become the stream ${name}, so nothing is imported; pass the folder that holds both, or import them one by one with --name or --prefix`,
      )
    paths.set(name, path)
  }
}

async function bytesOf(sources: readonly Source[]): Promise<number> {
  let bytes = 0
  for (const { path } of sources) bytes += (await stat(path).catch(() => undefined))?.size ?? 0
  return bytes
}

/** Reports files that cannot be imported, and totals. */
class Summary {
  readonly failed = new Set<FileImport>()
  readonly #flags: StreamsFlags

  constructor(flags: StreamsFlags) {
    this.#flags = flags
  }

  /** Reports the file as failed if `work` throws an InputError, and closes it. Other errors end the command. */
  async attempt(one: FileImport, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      this.failed.add(one)
      process.exitCode = ExitCode.badInput
      if (this.#flags.json) await printJson({ file: one.path, error: error.message })
      else writeMessage('durlog: ', error.message)
    }
    if (!this.#flags.watch || this.failed.has(one)) await one.close()
  }

  /** Prints the totals of several files. */
  async print(imports: readonly FileImport[]): Promise<void> {
    if (imports.length < 2) return
    const totals = { files: imports.length, failed: this.failed.size, intact: 0, stored: 0, damaged: 0 }
    for (const { intact, stored, damaged } of imports) {
      totals.intact += intact
      totals.stored += stored
      totals.damaged += damaged
    }
    if (this.#flags.json) return printJson(totals)
    const lines = formatCounted(totals.intact, 'intact line')
    const isDry = this.#flags.dryRun === true
    const refused = totals.failed === 0 ? '' : `, ${formatCount(totals.failed)} of them refused`
    await writeSummary(
      `${formatCounted(totals.files, 'file')}${refused}: ${lines}, ${isDry ? 'nothing is stored' : `${formatCount(totals.stored)} new`}; ${formatCount(totals.damaged)} damaged\n`,
    )
  }
}

class FileImport {
  readonly path: string
  /** The numbers of intact lines, of new records, and of damaged lines. */
  intact = 0
  stored = 0
  damaged = 0
  readonly #name: string
  readonly #flags: StreamsFlags
  readonly #folder: (() => Promise<Folder<unknown>>) | undefined
  #streams: Folder<unknown> | undefined
  #stream: Stream<unknown> | undefined
  readonly #splitter = new InputLines(RECORD_MAX_BYTES, { isCut: true, skipsMark: true })
  /** The producer id, which is derived from the file's path: if an import is repeated, no line is stored twice. */
  readonly #producerId: string
  #file: FileHandle | undefined
  #offset = 0
  #line = 0
  /** The number of records that earlier imports of the file have stored. */
  #earlier = 0
  /** Damaged lines that have not been reported. */
  #bad: BadLine[] = []
  #reported = { intact: -1, damaged: 0 }
  #pending: Promise<void>[] = []
  /** The last lines that an earlier import has stored. They are compared before a new line is appended. */
  #repeated: { line: number; value: unknown; done: Promise<{ seq: number }> }[] = []

  constructor({ path, name }: Source, folder: (() => Promise<Folder<unknown>>) | undefined, flags: StreamsFlags) {
    this.path = path
    this.#flags = flags
    this.#name = name
    this.#folder = folder
    this.#producerId = `import ${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 32)}`
  }

  /** Imports the file as it is now. A file without damage is reported only if `isListed`. */
  async import(progress: Progress, isListed: boolean): Promise<void> {
    await this.#open()
    await this.#read(this.#flags.watch !== true, progress)
    await this.#report(isListed)
  }

  /** Imports what was appended to the file since the last call. Throws if the file was replaced or shortened. */
  async follow(): Promise<void> {
    // Before the read, which then takes the last lines of the old file.
    const isReplaced = await this.#isReplaced()
    await this.#read(isReplaced)
    await this.#report()
    if (isReplaced) throw this.#newFile(`replaced after its line ${this.#line}`)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pending)
    await this.#file?.close()
    this.#file = undefined
  }

  async #open(): Promise<void> {
    this.#file = await open(this.path, 'r').catch(this.#failRead)
    this.#streams = await this.#folder?.()
    if (this.#streams === undefined) return
    try {
      this.#stream = this.#streams.stream(this.#name)
    } catch (error) {
      throw new InputError(`can't import ${this.path}: ${(error as Error).message}`)
    }
    const last = await portOf(this.#streams).lastAppend(this.#name, this.#producerId)
    this.#earlier = last === undefined ? 0 : last.seq + 1
    if (this.#flags.name !== undefined || this.#earlier > 0) return
    const records = (await this.#stream.info())?.nextSeq ?? 0
    if (records > 0)
      throw new InputError(
        `can't import ${this.path}: the stream ${this.#name} has ${formatCounted(records, 'record')} that are not of this file; import it into another stream with --prefix or --name, or append it to this one with --name ${this.#name}`,
      )
  }

  readonly #failRead = (error: Error): never => {
    throw new InputError(`can't read ${this.path}: ${error.message}`)
  }

  /** Reads the file to its current end. With `isLast`, a last line without a newline is a line too. */
  async #read(isLast: boolean, progress?: Progress): Promise<void> {
    const file = this.#file as FileHandle
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, this.#offset).catch(this.#failRead)
      if (bytesRead === 0) break
      this.#offset += bytesRead
      await this.#take(this.#splitter.push(Buffer.from(chunk.subarray(0, bytesRead))))
      progress?.advance(bytesRead)
    }
    if (isLast) await this.#take(this.#splitter.end())
    await this.#compareRepeated()
    await Promise.all(this.#pending)
    this.#pending = []
    // With `--watch`, the last line may have no newline yet.
    if (this.intact < this.#earlier - (isLast ? 0 : 1))
      throw this.#otherFile(`it has ${this.intact} intact lines, and ${this.#earlier} were imported`)
  }

  /** Prints the changes since the last report. */
  async #report(isListed = true): Promise<void> {
    await this.#reportBad()
    const { json, watch } = this.#flags
    const { path, intact, stored, damaged } = this
    const isNew = this.#reported.intact !== intact || this.#reported.damaged !== damaged
    this.#reported = { intact, damaged }
    if (!isNew || (watch && !json && intact === 0)) return
    if (json) return printJson({ file: path, stream: this.#name, intact, stored, damaged })
    if (!isListed && damaged === 0) return
    const news = this.#flags.dryRun ? 'nothing is stored' : `${formatCount(stored)} new in the stream ${this.#name}`
    await writeSummary(`${visible(`${path}: ${formatCounted(intact, 'intact line')}, ${news}; ${damaged} damaged`)}\n`)
  }

  /** Prints damaged lines, and stores them in a separate file. */
  async #reportBad(): Promise<void> {
    if (this.#bad.length === 0) return
    process.exitCode = ExitCode.badInput
    for (const { file, line, damage, text } of this.#bad) {
      if (this.#flags.json) await printJson({ file, line, damage, text })
      else await writeSummary(`${visible(`${file}:${line}: ${damage}: ${text.slice(0, SHOWN_CHARACTERS)}`)}\n`)
    }
    await this.#keepAside()
    this.damaged += this.#bad.length
    this.#bad = []
  }

  async #take(lines: readonly Buffer[]): Promise<void> {
    for (const bytes of lines) {
      this.#line++
      if (isBlank(bytes)) continue
      if (bytes.length > RECORD_MAX_BYTES) {
        await this.#refuse('too long', bytes.toString('utf8', 0, SHOWN_CHARACTERS))
        continue
      }
      const text = bytes.toString()
      const isText = isUtf8(bytes)
      const damage = damageOf(text) ?? (isText ? undefined : 'invalid')
      if (damage === undefined) await this.#append(bytes, text)
      else await this.#refuse(damage, text, isText ? {} : { base64: bytes.toString('base64') })
    }
  }

  async #refuse(damage: BadLine['damage'], text: string, original: { base64?: string } = {}): Promise<void> {
    this.#bad.push({ file: this.path, line: this.#line, damage, text, ...original })
    if (this.#bad.length >= WINDOW) await this.#reportBad()
  }

  async #append(line: Buffer, text: string): Promise<void> {
    const value: unknown = JSON.parse(text)
    let timestamp: number | undefined
    try {
      const { timeField } = this.#flags
      if (timeField !== undefined) timestamp = timeIn(value, timeField, `${this.path}:${this.#line}`)
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      return this.#refuse('no time', text)
    }
    let stored: ReturnType<typeof storedJson>
    try {
      stored = storedJson(line, value)
    } catch {
      return this.#refuse('too deep', text)
    }
    const seq = this.intact++
    // The seqs of earlier records are not known, so they are not compared.
    if (this.#stream === undefined || seq < this.#earlier - RECENT_APPENDS) return
    const isRepeated = seq < this.#earlier
    if (!isRepeated) await this.#compareRepeated()
    const done = this.#stream.append(stored, {
      producer: { id: this.#producerId, epoch: 0, seq },
      timestamp,
    })
    if (isRepeated) {
      this.#repeated.push({ line: this.#line, value, done })
      done.catch(() => {}) // until it is compared
      return
    }
    const counted = done.then(({ duplicate }) => {
      if (!duplicate) this.stored++
    })
    // Awaited later, in order: a rejection before that must not count as unhandled.
    counted.catch(() => {})
    this.#pending.push(counted)
    if (this.#pending.length >= WINDOW) await this.#pending.shift()
  }

  /** Throws if an earlier import has stored another value for one of the repeated lines. */
  async #compareRepeated(): Promise<void> {
    const lines: { line: number; value: unknown; seq: number }[] = []
    for (const { line, value, done } of this.#repeated) lines.push({ line, value, seq: (await done).seq })
    this.#repeated = []
    if (lines.length === 0) return
    const stream = this.#stream as Stream<unknown>
    const { firstSeq = Number.POSITIVE_INFINITY } = (await stream.info()) ?? {}
    // -1: the seq is not known.
    const known = lines.filter(({ seq }) => seq >= firstSeq)
    if (known[0] === undefined) return
    await using records = stream.read({ from: known[0].seq })
    for (const { line, value, seq } of known) {
      // Others may have appended records between those of the file.
      let next = await records.next()
      while (!next.done && next.value.seq < seq) next = await records.next()
      if (next.done) return
      if (JSON.stringify(next.value.value) !== JSON.stringify(value))
        throw this.#otherFile(`line ${line} differs from record ${seq} of the stream ${this.#name}`)
    }
  }

  /** The lines of such a file would be taken for lines that are already stored. */
  #otherFile(reason: string): InputError {
    return new InputError(
      `${this.path} is not the file that was imported before: ${reason}; rename the file, or delete the stream to import the whole file again`,
    )
  }

  async #keepAside(): Promise<void> {
    if (this.#streams === undefined) return
    const folder = join(this.#streams.dir, 'changed')
    const path = join(folder, `${this.#producerId.replace(' ', '-')}.jsonl`)
    if (this.damaged === 0) {
      await makeFolder(folder)
      await rm(path, { force: true }) // of an earlier import of the file
      warn('KEPT_ASIDE', `the damaged lines of ${this.path} are in ${path}`, this.#flags.json === true)
    }
    await appendFile(path, this.#bad.map((bad) => `${JSON.stringify(bad)}\n`).join(''), { mode: 0o600 })
    takeOwner(path)
  }

  /** Whether another file has the path now. Throws if the file was shortened. */
  async #isReplaced(): Promise<boolean> {
    // As bigint, because ids of NTFS and XFS may exceed 2^53.
    const opened = await (this.#file as FileHandle).stat({ bigint: true })
    if (opened.size < this.#offset) throw this.#newFile('shortened')
    const now = await stat(this.path, { bigint: true }).catch(() => undefined)
    return now !== undefined && now.ino !== opened.ino
  }

  /** The records of such a file would have the producer seqs of the old ones. */
  #newFile(change: string): InputError {
    return new InputError(`${this.path} was ${change} during the import: import the new file under another name`)
  }
}
