// How an ES module sees the package: checked, not run.
import {
  type Durability,
  DurlogError,
  type Log,
  type LogRecord,
  type OpenOptions,
  open,
  type ReadableLog,
  type ReadOnlyLog,
  trim,
} from 'durlog'
import { serveStreams } from 'durlog/http'
import { destination, type LogDestination, type PinoLogOptions, transport } from 'durlog/pino'
import { openStreams, type Stream, type Streams, type StreamsOptions } from 'durlog/streams'

const durability: Durability = 'full'
const log: Log = await open('dir', { durability, segmentBytes: undefined, waitMs: 10 })
const seq: number = await log.append('x', { durability: 'memory', signal: AbortSignal.timeout(10) })
const { first, last }: { first: number; last: number } = await log.appendBatch([Buffer.from('x'), 'y'])
const written: number = log.write(new Uint8Array([1]))
for await (const { data, timestamp } of log.read({ from: first, to: last + 1, follow: true })) {
  const bytes: Buffer = data
  const when: Date = new Date(timestamp)
  void [bytes, when]
}
log.on('synced', (synced) => synced + 1)
log.on('latched', (error) => error.code)
const record: LogRecord = await log.get(seq)
const same: LogRecord = log.getSync(record.seq)
try {
  await log.truncateAfter(written)
} catch (error) {
  if (error instanceof DurlogError && error.code === 'ERR_DURLOG_SYNC_FAILED') void error.outcome
}
// @ts-expect-error: there is no such level
await log.append('x', { durability: 'fsync' })
// @ts-expect-error: a record is bytes or a string
await log.append(5)
// @ts-expect-error: there is no such option
await open('dir', { segmentSize: 1 })

await open('dir', { shared: true, strategy: 'mmap', preallocate: 'zero', recovery: 'strict', waitMs: 10 })
await open('dir', { shared: seq > 0, readOnly: seq > 1, strategy: 'auto' })
// @ts-expect-error: a shared log has no retention
await open('dir', { shared: true, retention: { maxBytes: '2g' } })
// @ts-expect-error: a shared log is written by a memory map
await open('dir', { shared: true, strategy: 'direct' })
// @ts-expect-error: a shared log needs allocated blocks
await open('dir', { shared: true, preallocate: 'none' })
// @ts-expect-error: a shared log is not opened with damage
await open('dir', { shared: true, recovery: 'salvage' })
// @ts-expect-error: the same for a reader
await open('dir', { shared: true, recovery: 'salvage', readOnly: true })

const reader: ReadOnlyLog = await open('dir', { readOnly: true })
await reader.refresh()
// @ts-expect-error: a reader has no method that writes
await reader.append('x')
// @ts-expect-error: a reader emits no events
reader.on('synced', () => {})
// @ts-expect-error: a writer always knows where its log ends
await log.refresh()
const countOf = ({ firstSeq, nextSeq }: ReadableLog): number => nextSeq - firstSeq
const shared: OpenOptions = { segmentBytes: 65536 }
const writer: Log = await open('dir', shared)
const counts: number[] = [writer, await open('dir', { ...shared, readOnly: true })].map(countOf)
const either = await open('dir', counts.length > 0 ? { readOnly: true } : {})
if (!either.readOnly) await either.append('x')

interface Order {
  id: number
}
const orders = await open<Order>('dir', { encoding: 'json', retention: { maxAgeMs: 1000 } })
await orders.append({ id: 1 })
const id: number = (await orders.get(0)).value.id
// @ts-expect-error: a value is an order
await orders.append({ id: 'one' })
const words = await open('dir', { encoding: 'utf8', readOnly: true })
for await (const { value } of (await words.cursor('c')).read()) value.toUpperCase()
const dates = await open('dir', {
  encoding: { encode: (date: Date) => date.toISOString(), decode: (data) => new Date(data.toString()) },
})
dates.write(new Date(id))
const time: number = dates.getSync(0).value.getTime()
// @ts-expect-error: without an encoding a record has no value
void (await log.get(time)).value
const lastSeq: number = log.writable({ split: 'lines', skipEmpty: true }).lastSeq
const p99: number = log.stats().commitMicros.lastMinute.p99 + (await trim('dir', { before: lastSeq })).bytes
log.on('overrun', ({ cursor, lostFirst }) => `${cursor} ${lostFirst} ${p99}`)

export { record, same }

const options: PinoLogOptions = { dir: 'dir', durability: 'async', segmentBytes: undefined }
const lines: LogDestination = await destination(options)
lines.on('error', (error: unknown) => error)
lines.flush((error) => error?.message)
const sink: { write(line: string): void } = lines
void [sink, (await transport(options)).writable, await lines.log.sync()]
// @ts-expect-error: a log that is opened for reading takes no lines
await destination({ dir: 'dir', readOnly: true })

const streams: Streams<{ id: number }> = await openStreams<{ id: number }>('dir', { durability: 'full' })
const { seq: streamSeq, duplicate } = await streams
  .stream('a')
  .append({ id: 1 }, { expectedSeq: 0, producer: { id: 'p', epoch: 1, seq: 0 } })
for await (const { value, position } of streams.stream('a').read({ from: streamSeq, follow: duplicate }))
  void [value.id, position]
const bytesOf: Streams<Uint8Array> = await openStreams('dir', { encoding: 'buffer' })
await bytesOf.stream('a').append(new Uint8Array(1))
// @ts-expect-error: the value is of another type
await streams.stream('a').append({ name: 'x' })
const chosen: StreamsOptions = { exclusive: true }
const unknownOf: Streams<unknown> = await openStreams('dir', chosen)
// @ts-expect-error: there is no such encoding
await openStreams('dir', { encoding: 'xml' })

interface Message {
  role: string
  text: string
}
const mixed = await openStreams('dir')
const chat: Stream<Message> = mixed.stream<Message>('chat')
for await (const { value } of chat.read()) value.text.trim()
// @ts-expect-error: a message has a text
await chat.append({ role: 'user' })
// @ts-expect-error: a folder of bytes has no streams of strings
bytesOf.stream<string>('a')
for (const each of [streams, bytesOf, mixed, unknownOf]) await serveStreams(each)
