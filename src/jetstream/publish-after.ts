/** Publishes one message directly after another one. */

import { Header } from './message.js'
import type { LiveLink } from './nats-link.js'
import { headerLines, rawHeaders } from './raw-headers.js'
import { type ApiError, fromApiError, fromClientError } from './refusals.js'

/**
 * Publishes a message without data, which is stored only if the last message of the subject has the sequence `after`.
 * Throws a ShipConflict if it has another one, and like the methods of a ShipTarget.
 */
export async function publishAfter(
  { nc }: LiveLink,
  { stream, subject, timeoutMs }: { stream: string; subject: string; timeoutMs: number },
  headers: string,
  after: number,
): Promise<void> {
  const condition = headerLines([
    [Header.expectedStream, stream],
    [Header.expectedLast, String(after)],
  ])
  const doing = `publishing to ${subject}`
  const answer = await nc
    .request(subject, new Uint8Array(), { headers: rawHeaders(headers + condition), timeout: timeoutMs })
    .catch((error: unknown) => {
      throw fromClientError(error, doing)
    })
  const { error } = answer.json<{ error?: ApiError }>()
  if (error !== undefined) throw fromApiError(error, doing)
}
