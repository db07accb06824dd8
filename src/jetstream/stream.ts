/** Finds or creates the stream to which records are shipped, and reads its properties. */
import type { StreamConfig, StreamInfo } from '@nats-io/jetstream'
import { DurlogError } from '../errors.js'
import type { LiveLink } from './link.js'
import { HEADER_ROOM_BYTES } from './message.js'
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
  created: boolean
}

export interface StreamWish {
  replicas: number
  /** Whether to create the stream if it is missing. */
  create: boolean
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
    info = await createStream(link, place, wish.replicas)
    created = true
  }
  return { ...factsOf(info.config, place, link), created }
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

function factsOf(config: StreamConfig, place: ResolvedPlace, { nc }: LiveLink): Omit<StreamFacts, 'created'> {
  const serverMax = nc.info?.max_payload ?? 2 ** 20
  const maxBytes = config.max_msg_size > 0 ? Math.min(serverMax, config.max_msg_size) : serverMax
  const limited = config.max_msgs > 0 || config.max_bytes > 0
  const subject = subjectOf(config, place)
  checkFit(config, subject, maxBytes)
  return {
    subject,
    atomicBatches: config.allow_atomic === true,
    replicated: config.num_replicas > 1,
    dropsOld: config.max_age > 0 || config.retention !== 'limits' || (limited && config.discard === 'old'),
    maxDataBytes: maxBytes - HEADER_ROOM_BYTES,
  }
}

/** Throws if the stream never acknowledges messages, stores them under another subject, or has no room for the headers. */
function checkFit({ name, no_ack, subject_transform }: StreamConfig, subject: string, maxBytes: number): void {
  const source = subject_transform?.src || '>'
  if (no_ack)
    throw refused(`the stream ${name} sends no acknowledgements (no_ack): set no_ack to false, or use another stream`)
  if (subject_transform !== undefined && covers(source, subject))
    throw refused(`the stream ${name} stores ${subject} under another subject (subject_transform): use another stream`)
  if (maxBytes <= HEADER_ROOM_BYTES)
    throw refused(
      `the stream ${name} accepts messages of at most ${maxBytes} bytes, but headers need up to ${HEADER_ROOM_BYTES}: raise its max_msg_size and the server's max_payload to 2048 or more`,
    )
}

function subjectOf(config: StreamConfig, { stream, subject }: ResolvedPlace): string {
  const taken = config.subjects ?? []
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
