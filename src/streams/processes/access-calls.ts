/** Answers the calls of `RemoteAccess` in the owner. */
import type { SeenState, StreamView } from '../access.js'
import { Body } from '../body.js'
import type { OwnedAccess } from '../owned-access.js'
import { placeOf } from '../record-source.js'
import { FrameType, type FrameWriter } from './frames.js'
import { type AccessCall, type BodyRequest, bodyFrame, type Call, type SentFile } from './messages.js'

/** The limit of the records that are sent in one answer, unless one is longer. */
const BODY_MAX_BYTES = 1 << 20

const OPERATIONS: ReadonlySet<string> = new Set([
  'find',
  'producerSeq',
  'body',
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
  if (call.op === 'body') return answerBody(access, id, call, writer)
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

async function answerBody(
  access: OwnedAccess,
  id: number,
  { stream: name, created, from, to, maxBytes, fromFile }: BodyRequest,
  writer: FrameWriter,
): Promise<void> {
  const stream = access.state(name, created)
  const { file, owner, end } = placeOf(stream, from)
  if (file !== undefined && !fromFile) {
    const { first, next, bytes, crc, index } = file
    const fileName = owner.fileName(first)
    const sent: SentFile = { first, next, bytes, crc, index: index.toString('base64'), fileName, end }
    writer.json(FrameType.answer, id, { value: sent })
    return
  }
  const body = new Body(stream.meta.encoding, Math.min(maxBytes, BODY_MAX_BYTES))
  const read = await access.read({ name, created, visible: to }, from, body)
  writer.send(bodyFrame(writer.maker, id, read, body))
}
