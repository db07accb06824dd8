/** Checks what the callers of `durlog/streams` pass. Each throws ERR_DURLOG_INVALID_ARGUMENT. */
import { invalidArgument } from '../errors.js'
import type { Durability } from '../index.js'
import { bag, choice, flag, shown, whole } from '../options/checks.js'
import { isUnicode } from './file-name.js'
import type { Producer, StreamAppendOptions, StreamEncoding, StreamsOptions } from './types.js'

const ENCODINGS: readonly StreamEncoding[] = ['json', 'text', 'bytes']
const LEVELS: readonly Durability[] = ['memory', 'async', 'sync', 'full']
const STREAMS_NAMES: readonly string[] = [
  'encoding',
  'durability',
  'checkpointBytes',
  'checkpointMs',
  'lock',
  'create',
] satisfies (keyof StreamsOptions)[]
const APPEND_NAMES: readonly string[] = ['expectedSeq', 'producer'] satisfies (keyof StreamAppendOptions)[]
const READ_NAMES: readonly string[] = ['from', 'follow', 'signal']
const BATCH_MAX = 65_536
/** Positions and seqs take 6 bytes in the files. */
const SEQ_RANGE = { min: 0, max: 2 ** 48 - 1, unit: 'records' }
const EPOCH_RANGE = { ...SEQ_RANGE, unit: 'epochs' }
const PRODUCER_ID_MAX_BYTES = 128

export interface ResolvedStreamsOptions {
  encoding: StreamEncoding
  /** Whether the caller named the encoding: then it must be that of the folder. */
  encodingNamed: boolean
  durability: Durability
  checkpointBytes: number
  checkpointMs: number
  lockWaitMs: number
  create: boolean
}

export function resolveStreamsOptions(options: unknown): ResolvedStreamsOptions {
  const given = bag('options', options, STREAMS_NAMES) as StreamsOptions
  const bytes = { min: 65_536, max: 2 ** 28, unit: 'bytes' }
  const ms = { min: 10, max: 3_600_000, unit: 'milliseconds' }
  const { waitMs } = bag('lock', given.lock, ['waitMs'])
  return {
    encoding: choice('encoding', given.encoding, ENCODINGS, 'json'),
    encodingNamed: given.encoding !== undefined,
    durability: choice('durability', given.durability, LEVELS, 'sync'),
    checkpointBytes: whole('checkpointBytes', given.checkpointBytes, bytes, 2 ** 24),
    checkpointMs: whole('checkpointMs', given.checkpointMs, ms, 1000),
    lockWaitMs: whole('lock.waitMs', waitMs, { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }, 0),
    create: flag('create', given.create, true),
  }
}

export interface AppendConditions {
  expectedSeq: number | undefined
  producer: Producer | undefined
}

const NO_CONDITIONS: AppendConditions = { expectedSeq: undefined, producer: undefined }

export function resolveAppendOptions(options: unknown): AppendConditions {
  if (options === undefined) return NO_CONDITIONS
  const { expectedSeq, producer } = bag('append options', options, APPEND_NAMES) as StreamAppendOptions
  return {
    expectedSeq: expectedSeq === undefined ? undefined : whole('expectedSeq', expectedSeq, SEQ_RANGE, 0),
    producer: producer === undefined ? undefined : resolveProducer(producer),
  }
}

function resolveProducer(producer: unknown): Producer {
  const { id, epoch, seq } = bag('producer', producer, ['id', 'epoch', 'seq']) as Partial<Producer>
  if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > PRODUCER_ID_MAX_BYTES || !isUnicode(id))
    throw invalidArgument(`producer.id must be Unicode text of 1 to ${PRODUCER_ID_MAX_BYTES} bytes; got ${shown(id)}`)
  if (epoch === undefined || seq === undefined)
    throw invalidArgument(`producer must have an epoch and a seq; got ${shown(epoch)} and ${shown(seq)}`)
  return {
    id,
    epoch: whole('producer.epoch', epoch, EPOCH_RANGE, 0),
    seq: whole('producer.seq', seq, SEQ_RANGE, 0),
  }
}

/** The items of a batch as objects; each is checked by the caller. */
export function checkBatch(items: unknown): asserts items is readonly unknown[] {
  if (!Array.isArray(items) || items.length === 0 || items.length > BATCH_MAX)
    throw invalidArgument(`a batch must be an array of 1 to ${BATCH_MAX} appends; got ${shown(items)}`)
}

export function checkReadOptions<O extends object>(options: O | undefined): O {
  const given = bag('read options', options, READ_NAMES) as { from?: unknown; follow?: unknown; signal?: unknown }
  if (given.from !== undefined) whole('from', given.from, SEQ_RANGE, 0)
  flag('follow', given.follow, false)
  if (given.signal !== undefined && !(given.signal instanceof AbortSignal))
    throw invalidArgument(`signal must be an AbortSignal; got ${shown(given.signal)}`)
  return given as O
}
