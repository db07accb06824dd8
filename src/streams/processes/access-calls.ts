/** Parts of the answers to `RemoteAccess` in the owner. */
import type { SeenState, StreamView } from '../access.js'
import { Body } from '../body.js'
import type { OwnedAccess } from '../owned-access.js'
import { placeOf } from '../record-source.js'
import { FrameType, type FrameWriter } from './frames.js'
import { type BodyRequest, bodyFrame, type SentFile } from './messages.js'

/** The limit of the records that are sent in one answer, unless one is longer. */
const BODY_MAX_BYTES = 1 << 20

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
export function sentView(state: StreamView): StreamView {
  const { name, created, meta, firstSeq, visible, ended, endVisible, softDeleted, lifeMs } = state
  return { name, created, meta, firstSeq, visible, ended, endVisible, softDeleted, lifeMs }
}

/** Answers with records, or with the description of the file that has them. */
export async function answerBody(
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
