/** Carries out the submissions of clients in the owner. A request that is already stored is not stored again. */
import { DurlogError } from '../../errors.js'
import { type CreationRequest, makeStream } from '../creation.js'
import type { EncodedValue } from '../encoding.js'
import { checkStreamName } from '../file-name.js'
import { followingAppend, type StreamContext } from '../items.js'
import { appendBatch, NamedStream } from '../stream.js'
import type { StreamAppendResult } from '../types.js'
import { type Submission, SubmitOp } from './messages.js'

/** Carries out a submission as the call that the client has made. */
export async function answerSubmission(
  context: StreamContext,
  { op, stream, options, values }: Submission,
): Promise<StreamAppendResult[]> {
  if (op === SubmitOp.batch) {
    const items = (options as { stream: string }[]).map((item, at) => ({ ...item, value: values[at] as EncodedValue }))
    return appendBatch(context, items)
  }
  checkStreamName(stream)
  if (op === SubmitOp.create) {
    const [first] = await makeStream(context, stream, options as CreationRequest, (creation) =>
      values.map((value) => followingAppend(creation, value)),
    )
    return [{ seq: -1, duplicate: first?.duplicate === true }]
  }
  const handle = new NamedStream<EncodedValue>(context, stream)
  const given = options as object | undefined
  if (op === SubmitOp.append) return [await handle.append(values[0] as EncodedValue, given)]
  if (op === SubmitOp.appendAll) return [await handle.appendAll(values, given)]
  if (op === SubmitOp.delete) return [{ seq: -1, duplicate: !(await handle.delete()) }]
  if (op !== SubmitOp.end)
    throw new DurlogError(
      'ERR_DURLOG_INVALID_ARGUMENT',
      'the request has an unknown kind: use the same version of durlog in all processes',
    )
  await handle.end(given)
  return []
}
