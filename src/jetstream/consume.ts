/** Reads the messages of a subject from a sequence on, and continues with those that are stored later. */
import type { ConsumerMessages } from '@nats-io/jetstream'
import { clock } from '../timers.js'
import type { AckTimeout } from './ack-timeout.js'
import type { LiveLink } from './nats-link.js'
import { loadPeers } from './peers.js'
import { fromClientError, Unanswered } from './refusals.js'

const MIB = 2 ** 20
/** The bytes of messages that are requested from the server in advance. */
const READ_AHEAD_BYTES = 8 * MIB
/** The server sends a heartbeat after this time without a message. Two missing heartbeats end the messages. */
const HEARTBEAT_MS = 2000

export interface MessageRange {
  stream: string
  subject: string
  domain?: string | undefined
  /** The sequence of the first message. */
  sequence: number
  /** Whether the stream should hold more messages than the caller has used. */
  expectsMore: () => boolean
}

/** Throws like the methods of a ShipTarget. The caller closes the messages. */
export async function consume(
  { nc }: LiveLink,
  { stream, subject, domain, sequence, expectsMore }: MessageRange,
  ackTimeout: AckTimeout,
): Promise<ConsumerMessages> {
  const { jetStream } = await loadPeers()
  const since = clock.now()
  try {
    const client = jetStream.jetstream(nc, { timeout: ackTimeout.ms, ...(domain !== undefined && { domain }) })
    const consumer = await client.consumers.get(stream, {
      filter_subjects: subject,
      deliver_policy: jetStream.DeliverPolicy.StartSequence,
      opt_start_seq: sequence,
    })
    ackTimeout.answered(clock.now() - since)
    const messages = await consumer.consume({
      max_bytes: Math.max(READ_AHEAD_BYTES, 2 * (nc.info?.max_payload ?? MIB)),
      idle_heartbeat: HEARTBEAT_MS,
    })
    void stopIfSilent(messages, expectsMore)
    return messages
  } catch (error) {
    const failure = fromClientError(error, 'reading the stream')
    if (failure instanceof Unanswered) ackTimeout.unanswered()
    throw failure
  }
}

/**
 * Ends `messages` if the server sends neither messages nor heartbeats, or only heartbeats although more messages are
 * expected: the stream may have lost them after they were found.
 */
async function stopIfSilent(messages: ConsumerMessages, expectsMore: () => boolean): Promise<void> {
  let received = -1
  let since = 0
  for await (const { type } of messages.status()) {
    if (type === 'heartbeats_missed') messages.stop(new Unanswered('the stream sends no heartbeat'))
    if (type !== 'heartbeat') continue
    if (messages.getReceived() !== received) {
      received = messages.getReceived()
      since = clock.now()
    } else if (expectsMore() && clock.now() - since >= HEARTBEAT_MS) {
      messages.stop(new Error('the stream sends no more messages, although it has reported more'))
    }
  }
}
