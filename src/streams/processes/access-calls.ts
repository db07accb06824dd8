/** Answers the calls of `RemoteAccess` in the owner. */
import type { SeenState, StreamView } from '../access.js'
import { type EncodedValue, storedCodecOf } from '../encoding.js'
import type { OwnedAccess } from '../owned-access.js'
import { placeOf } from '../record-source.js'
import type { StreamRecord } from '../types.js'
import { FrameType, type FrameWriter } from './frames.js'
import {
  type AccessCall,
  type Call,
  RECORD_HEADER_BYTES,
  RECORDS_HEADER_BYTES,
  type RecordsRequest,
  type SentFile,
  writeRecord,
  writeRecordsHeader,
} from './messages.js'

const OPERATIONS: ReadonlySet<string> = new Set([
  'find',
  'producerSeq',
  'records',
  'streams',
  'count',
  'stats',
] satisfies AccessCall['op'][])

export function isAccessCall(call: Call): call is AccessCall {
  return OPERATIONS.has(call.op)
}

/** Sends the answer to the call `id`, unless it throws or rejects. */
export function answerAccess(
  access: OwnedAccess,
  id: number,
  call: AccessCall,
  writer: FrameWriter,
): Promise<void> | undefined {
  const answer = (value: unknown): undefined => {
    writer.json(FrameType.answer, id, { value })
  }
  if (call.op === 'find') {
    const found = access.find(call.stream, call.isRead)
    return answer(found && sentView(found))
  }
  if (call.op === 'records') return answerRecords(access, id, call, writer)
  if (call.op === 'producerSeq') return answer(access.producerSeq(call.stream, call.producer))
  if (call.op === 'streams') return answer(access.list(call.prefix, call.after, call.count).map(sentView))
  if (call.op === 'count') return answer(access.count(call.prefix))
  return answer(access.stats())
}

/** Settles when the state of the stream differs from `seen`, or when `signal` aborts. */
export function changeOf(access: OwnedAccess, seen: SeenState, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const forget = access.onChange(seen, resolve)
    signal.addEventListener('abort', () => {
      forget()
      resolve()
    })
  })
}

/** Only these members are sent: readers need no others, and some cannot be sent as JSON. */
function sentView(state: StreamView): StreamView {
  const { name, created, meta, firstSeq, visible, ended, endVisible, softDeleted, lifeMs } = state
  return { name, created, meta, firstSeq, visible, ended, endVisible, softDeleted, lifeMs }
}

async function answerRecords(
  access: OwnedAccess,
  id: number,
  request: RecordsRequest,
  writer: FrameWriter,
): Promise<void> {
  const { stream: name, created, from, to, maxBytes, fromFile } = request
  const stream = access.state(name, created)
  const { file, owner, end } = placeOf(stream, from)
  if (file !== undefined && !fromFile) {
    const { first, next, bytes, crc, index } = file
    const fileName = owner.fileName(first)
    const sent: SentFile = { first, next, bytes, crc, index: index.toString('base64'), fileName, end }
    writer.json(FrameType.answer, id, { value: sent })
    return
  }
  const source = access.records<EncodedValue>(storedCodecOf)
  try {
    sendChunk(writer, id, (await source.next(stream, from, maxBytes)).slice(0, to - from))
  } finally {
    await source.close()
  }
}

function sendChunk(writer: FrameWriter, id: number, records: readonly StreamRecord<EncodedValue>[]): void {
  const { maker } = writer
  let bytes = RECORDS_HEADER_BYTES
  for (const { value } of records) bytes += RECORD_HEADER_BYTES + value.data.length
  const at = maker.begin(FrameType.chunk, id, bytes)
  let end = writeRecordsHeader(maker.bytes, at, { created: -1, next: (records.at(-1)?.seq ?? -1) + 1 })
  for (const record of records) end = writeRecord(maker.bytes, end, { stream: '', ...record })
  writer.send(maker)
}
