/** The actions of `durlog streams` except append and import. */

import type { Folder } from '../../streams/api/folder.js'
import type { StreamInfo, StreamLimits } from '../../streams/port/types.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import {
  formatBytes,
  formatCounted,
  formatFields,
  formatTable,
  formatTime,
  OutputClosedError,
  writeJson,
  writeOut,
  writeSummary,
} from '../../terminal/output.js'
import { onOutputClosed } from '../closed-output.js'
import { exportAll } from './exchange.js'
import { exportRecords, printValues } from './print.js'
import { verify } from './verify.js'

export interface StreamsFlags {
  prefix?: string
  lines?: number
  from?: number
  follow?: boolean
  times?: boolean
  name?: string
  timeField?: string
  dryRun?: boolean
  watch?: boolean
  keep?: boolean
  json?: boolean
}

type Names = readonly string[]
export type Action = (streams: Folder<unknown>, names: Names, flags: StreamsFlags) => Promise<void>

const DEFAULT_LINES = 10

export const ACTIONS: Record<string, Action> = { ls, stat, cat, tail, export: exportStreams, rm, fork, verify }

async function ls(streams: Folder<unknown>, _: Names, { prefix, json }: StreamsFlags): Promise<void> {
  const infos: StreamInfo[] = []
  for await (const info of streams.list({ prefix })) {
    if (json) await writeJson(info)
    else infos.push(info)
  }
  if (json) return
  if (infos.length === 0) return writeOut('no streams\n')
  infos.sort((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0) || (a.name < b.name ? -1 : 1))
  const rows = infos.map(({ name, firstSeq, nextSeq, updatedAt, fileBytes, encoding, ended }) => [
    name,
    updatedAt === undefined ? 'unknown' : formatTime(updatedAt).replace(/\.\d+/, ''),
    String(nextSeq - firstSeq),
    formatBytes(fileBytes),
    encoding,
    ended ? 'ended' : 'open',
  ])
  await writeOut(formatTable(['stream', 'last record', 'records', 'file', 'encoding', 'state'], rows))
}

async function stat(streams: Folder<unknown>, [name]: Names, { json }: StreamsFlags): Promise<void> {
  if (name !== undefined) return statOne(await existing(streams, name), json === true)
  let [count, records, bytes] = [0, 0, 0]
  for await (const { firstSeq, nextSeq, fileBytes } of streams.list()) {
    count++
    records += nextSeq - firstSeq
    bytes += fileBytes
  }
  const { dir, encoding, changes, ownerPid } = streams
  if (json) return writeJson({ dir, encoding, streams: count, records, fileBytes: bytes, ownerPid, changes })
  await writeOut(
    formatFields([
      ['folder', dir],
      ['encoding', encoding],
      ['streams', count],
      ['records', records],
      ['files', `${formatBytes(bytes)}, as of the last checkpoint`],
      ['owner', ownerPid === process.pid ? 'no other process' : `process ${ownerPid > 0 ? ownerPid : 'unknown'}`],
      ['changed', formatCounted(changes.length, 'file')],
    ]),
  )
}

function statOne(info: StreamInfo, json: boolean): Promise<void> {
  if (json) return writeJson(info)
  const {
    name,
    firstSeq,
    nextSeq,
    updatedAt,
    ended,
    contentType,
    expiresAt,
    ttlMs,
    fork: point,
    retention,
    fileBytes,
    path,
  } = info
  return writeOut(
    formatFields([
      ['stream', name],
      ['records', `${nextSeq - firstSeq}, from seq ${firstSeq}`],
      ['last record', updatedAt === undefined ? 'unknown' : formatTime(updatedAt)],
      ['state', ended ? 'ended' : 'open'],
      ['content type', contentType],
      [
        'expires',
        expiresAt !== undefined
          ? new Date(expiresAt).toISOString()
          : ttlMs !== undefined
            ? `after ${ttlMs} ms`
            : 'never',
      ],
      ['retention', retention === undefined ? 'all records' : formatRetention(retention)],
      ['fork of', point === undefined ? 'no stream' : `${point.stream}, at seq ${point.seq}`],
      ['file', `${formatBytes(fileBytes)} in ${path}${retention === undefined ? '' : ' and earlier files'}`],
    ]),
  )
}

function formatRetention({ maxRecords, maxBytes, maxAgeMs }: StreamLimits): string {
  const limits = [
    maxRecords !== undefined && formatCounted(maxRecords, 'record'),
    maxBytes !== undefined && formatBytes(maxBytes),
    maxAgeMs !== undefined && `${maxAgeMs} ms`,
  ]
  return limits.filter((limit) => limit !== false).join(', ')
}

async function cat(streams: Folder<unknown>, names: Names, flags: StreamsFlags): Promise<void> {
  const { name } = await existing(streams, names[0] as string)
  await printValues(streams.stream(name).readStored({ from: flags.from }), flags)
}

async function tail(streams: Folder<unknown>, names: Names, flags: StreamsFlags): Promise<void> {
  const { follow = false, lines = DEFAULT_LINES } = flags
  const name = names[0] as string
  const info = follow ? await streams.stream(name).info() : await existing(streams, name)
  const from = lines === 0 ? info?.nextSeq : -lines
  const closed = new AbortController()
  const stop = onOutputClosed(() => closed.abort(new OutputClosedError()))
  try {
    await printValues(streams.stream(name).readStored({ from, follow, signal: closed.signal }), flags)
  } finally {
    stop()
  }
}

async function exportStreams(streams: Folder<unknown>, [stream]: Names, { from, prefix }: StreamsFlags): Promise<void> {
  if (stream === undefined) return exportAll(streams, prefix)
  const { name } = await existing(streams, stream)
  await exportRecords(streams.stream(name).readStored({ from }))
}

async function rm(streams: Folder<unknown>, names: Names, { json }: StreamsFlags): Promise<void> {
  for (const name of names) {
    const existed = await streams.stream(name).delete()
    if (!existed) throw noStream(name)
    // A reader of stdout that closes it does not keep the other streams.
    if (json) await writeSummary(`${JSON.stringify({ stream: name, removed: true })}\n`)
  }
}

async function fork(streams: Folder<unknown>, names: Names, { from, json }: StreamsFlags): Promise<void> {
  const [source, name] = names as [string, string]
  await existing(streams, source)
  const created = await streams.stream(name).create({ fork: { stream: source, seq: from } })
  if (!created) throw new InputError(`the stream ${name} exists`)
  if (json) await writeJson(await streams.stream(name).info())
}

async function existing(streams: Folder<unknown>, name: string): Promise<StreamInfo> {
  const info = await streams.stream(name).info()
  if (info === undefined) throw noStream(name)
  return info
}

function noStream(name: string): InputError {
  return new InputError(`there is no stream ${name}: "durlog streams DIR ls" lists the names`, ExitCode.noLog)
}
