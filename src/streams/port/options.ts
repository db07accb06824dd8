/**
 * Checks the arguments of the callers of `durlog/streams`. Each function throws ERR_DURLOG_INVALID_ARGUMENT for an
 * invalid one.
 */
import { invalidArgument } from '../../errors.js'
import type { AppendDurability, LogPosition, ReplicateTo } from '../../index.js'
import { APPEND_LEVELS } from '../../native/levels.js'
import { checkSignal } from '../../options/abort-signal.js'
import { checkLogPosition, toTimeMs } from '../../options/call-options.js'
import { bag, choice, flag, isUnicode, shown, whole } from '../../options/checks.js'
import { VALUES_MAX } from './encoding.js'
import { checkStreamName, NAME_MAX_BYTES } from './file-name.js'
import { checkContentType, type StreamMeta } from './meta.js'
import { type AppendConditions, type CreationRequest, NO_CONDITIONS, type ReadBounds } from './port.js'
import type {
  Producer,
  StreamAppendOptions,
  StreamBatchItem,
  StreamCreateOptions,
  StreamEncoding,
  StreamFork,
  StreamLimits,
  StreamReadOptions,
  StreamRetention,
  StreamsOptions,
} from './types.js'

const ENCODINGS: readonly StreamEncoding[] = ['json', 'utf8', 'buffer']
const STREAMS_NAMES: readonly string[] = [
  'encoding',
  'durability',
  'checkpointBytes',
  'checkpointMs',
  'waitMs',
  'create',
  'exclusive',
  'replicate',
  'acceptClock',
  'signal',
] satisfies (keyof StreamsOptions)[]
const APPEND_NAMES: readonly string[] = [
  'expectedSeq',
  'producer',
  'writerSeq',
  'create',
  'end',
  'durability',
  'timestamp',
  'signal',
] satisfies (keyof StreamAppendOptions)[]
const CREATE_NAMES: readonly string[] = [
  'encoding',
  'contentType',
  'ttlMs',
  'expiresAt',
  'fork',
  'retention',
  'values',
  'end',
  'signal',
] satisfies (keyof StreamCreateOptions<unknown>)[]
const READ_NAMES: readonly string[] = [
  'from',
  'to',
  'until',
  'follow',
  'durableOnly',
  'signal',
] satisfies (keyof StreamReadOptions)[]
const CURSOR_READ_NAMES: readonly string[] = READ_NAMES.filter((name) => name !== 'from')
const BATCH_MAX = VALUES_MAX + 1
/** Positions, seqs and epochs have 6 bytes in the files. */
const SEQ_RANGE = { min: 0, max: 2 ** 48 - 1 }
const PRODUCER_RANGE = { min: 0, max: Number.MAX_SAFE_INTEGER }
/** A negative `from` counts from the end. */
const FROM_RANGE = { min: 1 - 2 ** 48, max: 2 ** 48 - 1 }
const PRODUCER_ID_MAX_BYTES = 128
const WRITER_SEQ_MAX_BYTES = 1024
const FORK_NAMES: readonly string[] = ['stream', 'seq', 'bytes'] satisfies (keyof StreamFork)[]
const RETENTION_NAMES: readonly string[] = ['maxRecords', 'maxBytes', 'maxAgeMs'] satisfies (keyof StreamRetention)[]
const RECORDS_RANGE = { min: 1, max: 2 ** 48 - 1, unit: 'records' }
const BYTES_RANGE = { min: 65_536, max: 2 ** 53 - 1, unit: 'bytes' }
const AGE_RANGE = { min: 1000, max: 2 ** 53 - 1, unit: 'milliseconds' }
/** Timestamps have 6 bytes in the files. */
const TIMESTAMP_RANGE = { min: 0, max: 2 ** 48 - 1, unit: 'milliseconds' }
const TIME_RANGE = { min: 0, max: 2 ** 53 - 1, unit: 'milliseconds' }

export interface ResolvedStreamsOptions {
  encoding: StreamEncoding
  /** Whether the caller has chosen the encoding: then it must be the encoding of the folder. */
  encodingNamed: boolean
  durability: AppendDurability
  replicate: ReplicateTo | undefined
  checkpointBytes: number
  checkpointMs: number
  waitMs: number
  create: boolean
  exclusive: boolean
  acceptClock: boolean
  signal: AbortSignal | undefined
}

export function resolveStreamsOptions(options: unknown): ResolvedStreamsOptions {
  const given = bag('options', options, STREAMS_NAMES) as StreamsOptions
  const bytes = { min: 65_536, max: 2 ** 28, unit: 'bytes' }
  const ms = { min: 10, max: 3_600_000, unit: 'milliseconds' }
  const exclusive = flag('exclusive', given.exclusive, false)
  const durability = choice('durability', given.durability, APPEND_LEVELS, 'sync')
  const { replicate } = given
  if (replicate !== undefined && !exclusive)
    throw invalidArgument('replicate needs exclusive: true: only the process that opens the folder can replicate it')
  if (durability === 'replicated' && replicate === undefined)
    throw invalidArgument('durability "replicated" needs a destination: use the option replicate')
  const acceptClock = flag('acceptClock', given.acceptClock, false)
  if (acceptClock && !exclusive)
    throw invalidArgument('acceptClock needs exclusive: true: all processes must use the same time')
  return {
    encoding: choice('encoding', given.encoding, ENCODINGS, 'json'),
    encodingNamed: given.encoding !== undefined,
    durability,
    replicate,
    checkpointBytes: whole('checkpointBytes', given.checkpointBytes, bytes, 2 ** 24),
    checkpointMs: whole('checkpointMs', given.checkpointMs, ms, 1000),
    waitMs: whole('waitMs', given.waitMs, { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }, 0),
    create: flag('create', given.create, true),
    exclusive,
    acceptClock,
    signal: checkSignal(given.signal),
  }
}

/** The conditions of a call, and its signal. */
export type ResolvedAppend = AppendConditions & { signal: AbortSignal | undefined }

const NO_OPTIONS: ResolvedAppend = { ...NO_CONDITIONS, signal: undefined }

export function resolveAppendOptions(options: unknown): ResolvedAppend {
  return options === undefined ? NO_OPTIONS : checkedAppend(bag('append options', options, APPEND_NAMES))
}

function checkedAppend(options: StreamAppendOptions): ResolvedAppend {
  const { expectedSeq, producer, writerSeq, create, end, durability, timestamp, signal } = options
  return {
    expectedSeq: expectedSeq === undefined ? undefined : whole('expectedSeq', expectedSeq, SEQ_RANGE, 0),
    producer: producer === undefined ? undefined : resolveProducer(producer),
    writerSeq: writerSeq === undefined ? undefined : text('writerSeq', writerSeq, WRITER_SEQ_MAX_BYTES),
    mustExist: !flag('create', create, true),
    end: flag('end', end, false),
    durability: durability === undefined ? undefined : choice('durability', durability, APPEND_LEVELS, 'sync'),
    timestamp: timestamp === undefined ? undefined : whole('timestamp', timestamp, TIMESTAMP_RANGE, 0),
    signal: checkSignal(signal),
  }
}

/** Checks the options of `end`. */
export function resolveEndOptions(options: unknown): ResolvedAppend {
  const { producer, signal } = bag('end options', options, ['producer', 'signal'])
  return {
    ...NO_CONDITIONS,
    mustExist: true,
    producer: producer === undefined ? undefined : resolveProducer(producer),
    signal: checkSignal(signal),
  }
}

export interface Creation extends CreationRequest {
  values: readonly unknown[]
  signal: AbortSignal | undefined
}

/** Checks the options of `create`. `encoding` is the default, the encoding of the folder. */
export function resolveCreateOptions(options: unknown, encoding: StreamEncoding): Creation {
  const given = bag('create options', options, CREATE_NAMES) as StreamCreateOptions<unknown>
  const { contentType, ttlMs, expiresAt, values = [] } = given
  const fork = given.fork === undefined ? undefined : (bag('fork', given.fork, FORK_NAMES) as Partial<StreamFork>)
  if (!Array.isArray(values) || values.length >= BATCH_MAX)
    throw invalidArgument(`values must be an array of fewer than ${BATCH_MAX} values; got ${shown(values)}`)
  if (fork !== undefined) checkStreamName(fork.stream)
  if (contentType !== undefined) checkContentType('contentType', contentType)
  const meta: StreamMeta = {
    encoding: choice('encoding', given.encoding, ENCODINGS, encoding),
    contentType,
    ttlMs: ttlMs === undefined ? undefined : whole('ttlMs', ttlMs, TIME_RANGE, 0),
    expiresAtMs: expiresAt === undefined ? undefined : toTimeMs('expiresAt', expiresAt),
    fork: fork && {
      stream: fork.stream as string,
      seq: whole('fork.seq', fork.seq, SEQ_RANGE, 0),
      bytes: whole('fork.bytes', fork.bytes, { min: 0, max: 2 ** 32, unit: 'bytes' }, 0),
    },
    retention: given.retention === undefined ? undefined : resolveRetention(given.retention),
  }
  const forkAnywhere = fork !== undefined && fork.seq === undefined
  if (forkAnywhere && meta.fork?.bytes !== 0)
    throw invalidArgument('fork.bytes needs fork.seq, the seq of the record to copy a part of')
  const encodingNamed = given.encoding !== undefined
  return {
    meta,
    forkAnywhere,
    encodingNamed,
    values,
    end: flag('end', given.end, false),
    signal: checkSignal(given.signal),
  }
}

function resolveRetention(value: unknown): StreamLimits {
  const { maxRecords, maxBytes, maxAgeMs } = bag('retention', value, RETENTION_NAMES) as StreamRetention
  if (maxRecords === undefined && maxBytes === undefined && maxAgeMs === undefined)
    throw invalidArgument('retention must have maxRecords, maxBytes or maxAgeMs; got none of them')
  const limit = (name: string, given: unknown, range: typeof RECORDS_RANGE): number | undefined =>
    given === undefined ? undefined : whole(`retention.${name}`, given, range, 0)
  return {
    maxRecords: limit('maxRecords', maxRecords, RECORDS_RANGE),
    maxBytes: limit('maxBytes', maxBytes, BYTES_RANGE),
    maxAgeMs: limit('maxAgeMs', maxAgeMs, AGE_RANGE),
  }
}

/** Checks the number of the values of one append. The encoding checks each value. */
export function checkValues(values: unknown): asserts values is readonly unknown[] {
  if (!Array.isArray(values) || values.length === 0 || values.length >= BATCH_MAX)
    throw invalidArgument(`values must be an array of 1 to ${BATCH_MAX - 1} values; got ${shown(values)}`)
}

function text(name: string, value: unknown, maxBytes: number): string {
  if (typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= maxBytes && isUnicode(value))
    return value
  throw invalidArgument(`${name} must be Unicode text of 1 to ${maxBytes} bytes; got ${shown(value)}`)
}

function resolveProducer(producer: unknown): Producer {
  const { id, epoch, seq } = bag('producer', producer, ['id', 'epoch', 'seq']) as Partial<Producer>
  const checkedId = text('producer.id', id, PRODUCER_ID_MAX_BYTES)
  if (epoch === undefined || seq === undefined)
    throw invalidArgument(`producer must have an epoch and a seq; got ${shown(epoch)} and ${shown(seq)}`)
  return {
    id: checkedId,
    epoch: whole('producer.epoch', epoch, PRODUCER_RANGE, 0),
    seq: whole('producer.seq', seq, PRODUCER_RANGE, 0),
  }
}

const BATCH_ITEM_NAMES: readonly string[] = [
  'stream',
  'value',
  ...APPEND_NAMES.filter((name) => !['end', 'signal'].includes(name)),
]

/** One item of a batch. */
export interface BatchAppend<V> {
  stream: string
  /** Not checked here: the encoding checks it. */
  value: V
  conditions: AppendConditions
}

export function resolveBatch<V>(items: readonly StreamBatchItem<V>[]): BatchAppend<V>[] {
  if (!Array.isArray(items) || items.length === 0 || items.length > BATCH_MAX)
    throw invalidArgument(`a batch must be an array of 1 to ${BATCH_MAX} appends; got ${shown(items)}`)
  return Array.from(items, (item: unknown) => {
    const given = bag('a batch item', item, BATCH_ITEM_NAMES)
    const { stream, value } = given
    checkStreamName(stream)
    return { stream, value: value as V, conditions: checkedAppend(given) }
  })
}

/** Checks the options of `list`. */
export function resolveListOptions(options: unknown): { prefix: string; signal: AbortSignal | undefined } {
  const { prefix = '', signal } = bag('list options', options, ['prefix', 'signal'])
  if (typeof prefix !== 'string' || Buffer.byteLength(prefix) > NAME_MAX_BYTES || !isUnicode(prefix))
    throw invalidArgument(
      `prefix must be Unicode text of at most ${NAME_MAX_BYTES} bytes in UTF-8; got ${shown(prefix)}`,
    )
  return { prefix, signal: checkSignal(signal) }
}

/** Checks the options of `readAll`. */
export function resolveReadAllOptions(options: unknown): ResolvedRead<number | LogPosition> {
  return resolveRead(options, READ_NAMES, (from) => (typeof from === 'object' ? checkLogPosition(from) : fromOf(from)))
}

/** Checks the options of a cursor's `read`, which have no `from`: it begins at the cursor's position. */
export function resolveCursorReadOptions(options: unknown): ResolvedRead {
  return resolveRead(options, CURSOR_READ_NAMES, fromOf)
}

export function resolveReadOptions(options: unknown): ResolvedRead {
  return resolveRead(options, READ_NAMES, fromOf)
}

function fromOf(from: unknown): number {
  return whole('from', from, FROM_RANGE, 0)
}

export interface ResolvedRead<From = number> {
  range: ReadBounds<From>
  signal: AbortSignal | undefined
}

function resolveRead<From>(
  options: unknown,
  names: readonly string[],
  checkFrom: (from: unknown) => From,
): ResolvedRead<From> {
  const { from, to, until, follow, durableOnly, signal } = bag('read options', options, names) as StreamReadOptions
  const range = {
    from: from === undefined ? undefined : checkFrom(from),
    to: to === undefined ? undefined : whole('to', to, SEQ_RANGE, 0),
    untilMs: until === undefined ? undefined : toTimeMs('until', until),
    follow: flag('follow', follow, false),
    durableOnly: flag('durableOnly', durableOnly, false),
  }
  if (range.follow && until !== undefined)
    throw invalidArgument('until cannot be combined with follow: records before that time may still be appended')
  return { range, signal: checkSignal(signal) }
}
