/** Publishes one message directly after another one. */
import { ShipConflict } from '../ship/conflict.js'
import { Header } from './message.js'
import type { LiveLink } from './nats-link.js'
import { pubAckIn } from './pub-ack.js'
import { headerLines, rawHeaders } from './raw-headers.js'
import { fromClientError } from './refusals.js'

const EMPTY = new Uint8Array()

/**
 * Publishes a message, which is stored only if the last message of the subject has the sequence `after`, or if the
 * subject is empty and `after` is 0; in any case if `after` is undefined. Returns the sequence of the message. Throws
 * a ShipConflict if the condition does not hold, and like the methods of a ShipTarget.
 */
export async function publishAfter(
  { nc }: LiveLink,
  { stream, subject, timeoutMs }: { stream: string; subject: string; timeoutMs: number },
  headers: string,
  after: number | undefined,
  data: Uint8Array = EMPTY,
): Promise<number> {
  const condition = headerLines([
    [Header.expectedStream, stream],
    ...(after === undefined ? [] : ([[Header.expectedLast, String(after)]] as [string, string][])),
  ])
  const doing = `publishing to ${subject}`
  const answer = await nc
    .request(subject, data, { headers: rawHeaders(headers + condition), timeout: timeoutMs })
    .catch((error: unknown) => {
      throw fromClientError(error, doing)
    })
  const { seq, duplicate } = pubAckIn(answer, doing)
  // The server compares no sequences then, and other messages may have followed.
  if (duplicate) throw new ShipConflict(`${doing}: the server has already received this message`)
  return seq
}
