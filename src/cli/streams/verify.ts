/** The action `verify` of `durlog streams`: reads every record of a folder, or of a backup of one. */
import { isCode } from '../../errors.js'
import { verify as verifyLog } from '../../index.js'
import type { Folder } from '../../streams/api/folder.js'
import {
  contentsOf,
  type FileContent,
  filesOf,
  readCheckpoint,
  readContent,
} from '../../streams/files/folder-checkpoint.js'
import { FolderFiles } from '../../streams/files/folder-files.js'
import { loadedStream } from '../../streams/state/catalog-records.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { formatCounted, writeJson, writeOut } from '../../terminal/output.js'
import { visible } from '../../terminal/visible.js'

interface VerifyFlags {
  prefix?: string
  json?: boolean
}

/** Counts the records and the damage, and prints each damage. */
class Findings {
  #streams = 0
  #records = 0
  #damaged = 0
  readonly #json: boolean

  constructor({ json }: VerifyFlags) {
    this.#json = json === true
  }

  whole(records: number): void {
    this.#streams++
    this.#records += records
  }

  async damage(stream: string, message: string): Promise<void> {
    this.#streams++
    await this.#report({ stream, error: message }, `${stream}: ${message}`)
  }

  async damagedLog(path: string, state: string): Promise<void> {
    await this.#report({ log: path, error: state }, `${path}: ${state}: "durlog verify ${path}" lists the damage`)
  }

  async #report(json: object, line: string): Promise<void> {
    this.#damaged++
    process.exitCode = ExitCode.corrupt
    await (this.#json ? writeJson(json) : writeOut(`${visible(line)}\n`))
  }

  /** `rest` names what was read besides. */
  async summarize(rest = ''): Promise<void> {
    const [streams, records, damaged] = [this.#streams, this.#records, this.#damaged]
    if (this.#json) return writeJson({ streams, records, damaged })
    const verdict = damaged === 0 ? 'none is' : `${damaged} ${damaged === 1 ? 'is' : 'are'}`
    await writeOut(
      `read ${formatCounted(records, 'record')} of ${formatCounted(streams, 'stream')}${rest}; ${verdict} damaged\n`,
    )
  }
}

export async function verify(streams: Folder<unknown>, _: readonly string[], flags: VerifyFlags): Promise<void> {
  const findings = new Findings(flags)
  for await (const { name } of streams.list({ prefix: flags.prefix })) {
    try {
      const records = await readWhole(streams, name)
      if (records !== undefined) findings.whole(records)
    } catch (error) {
      await findings.damage(name, (error as Error).message)
    }
  }
  await findings.summarize()
}

/**
 * As `verify`, for a backup, which no process may open: compares the files of the streams with the catalog, and reads
 * the records of both logs.
 */
export async function verifyBackup(dir: string, flags: VerifyFlags): Promise<void> {
  const findings = new Findings(flags)
  const files = new FolderFiles(dir)
  let logged = 0
  for (const path of [files.log, files.catalog]) {
    const { state, nextSeq } = await verifyLog(path)
    if (path === files.log) logged = nextSeq
    if (state !== 'clean') await findings.damagedLog(path, state)
  }
  const { head, streams } = await readCheckpoint(dir)
  for (const stream of streams) {
    if (!stream.name.startsWith(flags.prefix ?? '')) continue
    const wrong = await firstWrong(contentsOf(dir, stream).flatMap(({ index, records }) => [index, records]))
    const disks = filesOf(loadedStream(stream)).map(({ disk }) => disk)
    if (wrong === undefined) findings.whole(disks.reduce((sum, { first, next }) => sum + next - first, 0))
    else await findings.damage(stream.name, `${wrong} is not the file that the catalog describes`)
  }
  await findings.summarize(
    ` as of the last checkpoint, and ${formatCounted(logged - head.position, 'later record')} of the log`,
  )
}

async function firstWrong(contents: readonly FileContent[]): Promise<string | undefined> {
  for (const { path, bytes, crc } of contents) {
    const found = { bytes: 0, crc: 0 }
    for await (const part of readContent(path, { from: 0, to: bytes, crc: 0 })) {
      found.bytes += part.bytes.length
      found.crc = part.crc
    }
    if (found.bytes < bytes || (crc !== undefined && found.crc !== crc)) return path
  }
  return undefined
}

/**
 * Reads every record and returns their number; undefined if the stream is deleted. If retention removes the next
 * records during the read, continues after them.
 */
async function readWhole(streams: Folder<unknown>, name: string): Promise<number | undefined> {
  let records = 0
  for (let next: number | undefined; ; ) {
    try {
      for await (const { seq } of streams.stream(name).read({ from: next })) {
        records++
        next = seq + 1
      }
      return records
    } catch (error) {
      if (isCode(error, 'ERR_DURLOG_NOT_FOUND')) return undefined
      const first = (await streams.stream(name).info())?.firstSeq
      const isRemoved = isCode(error, 'ERR_DURLOG_OUT_OF_RANGE') && first !== undefined && first > (next ?? -1)
      if (!isRemoved) throw error
      next = first
    }
  }
}
