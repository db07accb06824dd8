/** Carries out the read requests of clients in the owner. */
import { DurlogError } from '../../errors.js'
import { EncodedValue } from '../encoding.js'
import type { StreamStore } from '../store.js'
import type { StreamInfo } from '../types.js'
import { changeOf } from './access-calls.js'
import type { ReadRequest, SentRecord } from './messages.js'

export async function* recordsOf(
  store: StreamStore<EncodedValue>,
  request: ReadRequest,
  signal: AbortSignal,
): AsyncGenerator<SentRecord, void, undefined> {
  if (request.kind === 'change') return changeOf(store.access, request.seen, signal)
  if (request.kind === 'list') {
    for await (const info of store.list({ prefix: request.prefix })) yield sentInfo(info)
    return
  }
  const { from, follow } = request
  if (request.kind === 'all') {
    yield* store.readAll({ from, follow, signal })
    return
  }
  const { stream, created } = request
  if (created !== undefined && store.createdAt(stream) !== created)
    throw new DurlogError('ERR_DURLOG_NOT_FOUND', `the stream "${stream}" was deleted while it was read`)
  for await (const { seq, timestamp, position, value } of store.stream(stream).read({ from, follow, signal }))
    yield { stream: '', seq, timestamp, position, value }
}

function sentInfo(info: StreamInfo): SentRecord {
  return {
    stream: info.name,
    seq: 0,
    timestamp: 0,
    position: 0,
    value: new EncodedValue('json', Buffer.from(JSON.stringify(info))),
  }
}
