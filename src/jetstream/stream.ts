/** Finds or creates the stream to which records are shipped, and reads its properties. */
import type { StreamConfig, StreamInfo } from '@nats-io/jetstream'
import { DurlogError } from '../errors.js'
import { isWhole } from '../options/checks.js'
import { HEADER_ROOM_BYTES } from './message.js'
import type { LiveLink } from './nats-link.js'
import type { ResolvedPlace } from './options.js'
import { askUntilAnswered } from './race.js'
import { fromClientError, refused, StreamMissing } from './refusals.js'

export interface StreamFacts {
  subject: string
  /** Whether the stream accepts atomic batches. */
  atomicBatches: boolean
  /** Whether the stream has several replicas. */
  replicated: boolean
  /** Whether the stream drops old messages by itself. */
  dropsOld: boolean
  /** The longest data of a message in bytes. */
  maxDataBytes: number
  /** The sequence of the stream's last message, of any subject, also if it was removed. */
  lastSequence: number
  /** When the stream was created, as the server's text. */
  createdAt: string
  created: boolean
}

export interface StreamWish {
  /** `ship` checks that the stream can hold the records; `restore` only reads them. */
  use: 'ship' | 'restore'
  /** Whether the log removes records that the stream has acknowledged. */
  trims?: boolean
  replicas?: number
  /** Whether to create the stream if it is missing. */
  create?: boolean
}

/** Throws like the methods of a ShipTarget, and StreamMissing if the stream is missing and must not be created. */
export async function findStream(link: LiveLink, place: ResolvedPlace, wish: StreamWish): Promise<StreamFacts> {
  const { stream } = place
  let info: StreamInfo
  let created = false
  try {
    info = await askUntilAnswered(() => link.manager.streams.info(stream))
  } catch (error) {
    const failure = fromClientError(error, `reading the properties of the stream ${stream}`)
    if (!(failure instanceof StreamMissing) || !wish.create) throw failure
    info = await createStream(link, place, wish.replicas ?? 1)
    created = true
  }
  return {
    ...factsOf(info.config, place, wish, link),
    lastSequence: info.state.last_seq,
    createdAt: info.created,
    created,
  }
}

async function createStream(link: LiveLink, place: ResolvedPlace, replicas: number): Promise<StreamInfo> {
  const { stream, subject = stream.toLowerCase() } = place
  try {
    return await link.manager.streams.add({
      name: stream,
      subjects: [subject],
      num_replicas: replicas,
      storage: 'file',
      allow_direct: true,
      ...(takesAtomicBatches(link) && { allow_atomic: true }),
    })
  } catch (error) {
    throw fromClientError(error, `creating the stream ${stream}`)
  }
}

/** Whether the server supports atomic batches, which version 2.12 introduced. */
function takesAtomicBatches({ nc }: LiveLink): boolean {
  const [major = 0, minor = 0] = (nc.info?.version ?? '').split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 12)
}

function factsOf(
  config: StreamConfig,
  place: ResolvedPlace,
  { use, trims = false }: StreamWish,
  { nc }: LiveLink,
): Omit<StreamFacts, 'created' | 'createdAt' | 'lastSequence'> {
  const serverMax = isWhole(nc.info?.max_payload) ? nc.info.max_payload : 2 ** 20
  const maxBytes = config.max_msg_size > 0 ? Math.min(serverMax, config.max_msg_size) : serverMax
  const subject = subjectOf(config, place, use)
  const reason = use === 'ship' ? refusalOf(config, subject, { trims, maxBytes }) : undefined
  if (reason !== undefined) throw refused(`the stream ${config.name} ${reason}`)
  return {
    subject,
    atomicBatches: config.allow_atomic === true,
    replicated: config.num_replicas > 1,
    dropsOld: config.max_age > 0 || dropsOverLimit(config),
    maxDataBytes: maxBytes - HEADER_ROOM_BYTES,
  }
}

/** Whether the stream drops its oldest messages when it has reached its limit of messages or bytes. */
function dropsOverLimit({ max_msgs, max_bytes, discard }: StreamConfig): boolean {
  return (max_msgs > 0 || max_bytes > 0) && discard === 'old'
}

/**
 * Returns the reason why records must not be shipped to a stream with this configuration, and the remedy: the stream
 * would not hold what it has acknowledged. Undefined if there is none. docs/SHIPPING.md lists every option of a stream.
 */
function refusalOf(
  config: StreamConfig,
  subject: string,
  { trims, maxBytes }: { trims: boolean; maxBytes: number },
): string | undefined {
  const { retention, subject_transform, max_msgs_per_subject: perSubject } = config
  if (config.no_ack) return 'sends no acknowledgements (no_ack): set no_ack to false, or use another stream'
  if (config.persist_mode === 'async')
    return 'acknowledges messages before it has written them (persist_mode: async): use a stream without this option'
  if (retention !== 'limits')
    return `removes messages when consumers have received them, or if it has no consumer (retention: ${retention}): use a stream with retention: limits`
  if (perSubject > 0 && !(config.discard === 'new' && config.discard_new_per_subject))
    return `keeps at most ${perSubject} messages of the log (max_msgs_per_subject): remove this limit, or use another stream`
  if (config.allow_msg_counter)
    return 'holds counters (allow_msg_counter) and does not accept records: use another stream'
  if (subject_transform !== undefined && covers(subject_transform.src || '>', subject))
    return `stores ${subject} under another subject (subject_transform): use another stream`
  if (maxBytes <= HEADER_ROOM_BYTES)
    return `accepts messages of at most ${maxBytes} bytes, but headers need up to ${HEADER_ROOM_BYTES}: raise its max_msg_size and the server's max_payload to 2048 or more`
  if (trims && dropsOverLimit(config))
    return 'drops its oldest messages (max_msgs or max_bytes, with discard: old), but keepAfterAck removes records that it has acknowledged: set discard to new, or ship without keepAfterAck'
  if (trims && config.storage === 'memory')
    return 'is in the memory of its servers (storage: memory), but keepAfterAck removes records that it has acknowledged: use a stream with storage: file, or ship without keepAfterAck'
  return undefined
}

function subjectOf(config: StreamConfig, { stream, subject }: ResolvedPlace, use: StreamWish['use']): string {
  const taken = config.subjects ?? []
  // A mirror has the subjects of its origin.
  if (use === 'restore' && config.mirror !== undefined && subject !== undefined) return subject
  if (subject === undefined) {
    const [only, ...others] = taken
    if (only !== undefined && others.length === 0 && !/[*>]/.test(only)) return only
    throw refused(
      `the stream ${stream} has the subjects ${taken.join(', ') || '(none)'}: set the option subject to one of them`,
    )
  }
  if (!taken.some((pattern) => covers(pattern, subject)))
    throw refused(
      `the stream ${stream} does not have the subject ${subject}, only ${taken.join(', ') || '(none)'}: add it to the stream, or use another subject`,
    )
  return subject
}

/** Whether the subjects of `pattern` include `subject`. */
export function covers(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.')
  const tokens = subject.split('.')
  for (const [i, token] of wanted.entries()) {
    if (token === '>') return tokens.length > i
    if (tokens[i] === undefined || (token !== '*' && token !== tokens[i])) return false
  }
  return wanted.length === tokens.length
}

export function missingError(stream: string, remedy: string, cause: unknown): DurlogError {
  return new DurlogError('ERR_DURLOG_DESTINATION_MISSING', `there is no stream ${stream}: ${remedy}`, { cause })
}
