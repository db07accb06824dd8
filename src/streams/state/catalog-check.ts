/**
 * Checks the records of a catalog. Their checksums prove that they are as they were written, but another program, or
 * another version of durlog, may have written them.
 */

import { isWhole } from '../../options/checks.js'
import { ENCODING_NUMBERS } from '../port/encoding.js'
import { isStreamName } from '../port/file-name.js'
import { isStoredMeta } from '../port/meta.js'
import type { StoredRecord } from './catalog-records.js'
import { INDEX_ENTRY_BYTES } from './record-index.js'
import type { StreamState } from './state.js'

/** Numbers have 6 bytes in the files. */
const NUMBER_MAX = 2 ** 48 - 1
const CRC_MAX = 2 ** 32 - 1
/** An entry of an index in base64. It needs no padding, because its length is a multiple of 3. */
const ENTRY_CHARACTERS = (INDEX_ENTRY_BYTES / 3) * 4
const BASE64 = /^[A-Za-z0-9+/]*$/

/** The members of a file without times. */
const FILE_MEMBERS = 5

type Fields = Record<string, unknown>

/** Returns the name of a member of `record` that has an impossible value; undefined if there is none. */
export function wrongMember(record: unknown): string | undefined {
  const fields = Object(record) as Fields & { kind?: unknown }
  const { kind } = fields
  const checks = Object.hasOwn(CHECKS, String(kind)) ? CHECKS[kind as StoredRecord['kind']] : undefined
  if (checks === undefined) return 'kind'
  return checks.find(([name, isRight]) => !isRight(fields[name], fields))?.[0]
}

type Check = [name: string, isRight: (value: unknown, fields: Fields) => boolean]

const CHECKS: Readonly<Record<StoredRecord['kind'], readonly Check[]>> = {
  begin: [],
  stream: [
    ['name', isStreamName],
    ['created', isNumber],
    ['endedFrom', (value) => value === undefined || isNumber(value)],
    ['writerSeq', (value) => value === undefined || typeof value === 'string'],
    ['updatedMs', (value) => value === undefined || isNumber(value)],
    ['meta', (value) => (typeof value === 'string' ? isEncoding(value) : isStoredMeta(value))],
    ['disk', isFile],
    ['older', (value, { disk }) => value === undefined || (Array.isArray(value) && areFiles([...value, disk]))],
    ['dropped', (value) => value === undefined || areNumbers(value)],
    ['kept', (value, { disk }) => value === undefined || isKept(value, disk as [number, number])],
    ['producers', (value) => value === undefined || (Array.isArray(value) && value.every(isProducer))],
  ],
  gone: [['name', isStreamName]],
  requests: [
    ['client', (value) => typeof value === 'string'],
    ['requests', (value) => Array.isArray(value) && value.every(isRequest)],
  ],
  commit: [
    ['version', isNumber],
    ['log', (value) => typeof value === 'string'],
    ['encoding', isEncoding],
    ['position', isNumber],
    ['lastTimeMs', isNumber],
    ['voids', areNumbers],
  ],
}

function isNumber(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= NUMBER_MAX
}

function areNumbers(value: unknown): boolean {
  return Array.isArray(value) && value.every(isNumber)
}

function isEncoding(value: unknown): boolean {
  return typeof value === 'string' && Object.hasOwn(ENCODING_NUMBERS, value)
}

function isKept(value: unknown, [, next]: [first: number, next: number]): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(isNumber) && (value[0] as number) > next
}

/** Reads the members by their index, because a pattern would take three times as long. */
function isFile(value: unknown): value is [first: number, next: number] {
  if (!Array.isArray(value) || (value.length !== FILE_MEMBERS && value.length !== FILE_MEMBERS + 2)) return false
  const first: unknown = value[0]
  const next: unknown = value[1]
  const crc: unknown = value[3]
  const index: unknown = value[4]
  return (
    isNumber(first) &&
    isNumber(next) &&
    first <= next &&
    isNumber(value[2]) &&
    isNumber(crc) &&
    crc <= CRC_MAX &&
    typeof index === 'string' &&
    index.length % ENTRY_CHARACTERS === 0 &&
    index.length / ENTRY_CHARACTERS <= next - first &&
    BASE64.test(index) &&
    (value.length === FILE_MEMBERS || (isNumber(value[5]) && isNumber(value[6])))
  )
}

/** Files without an overlap, the oldest first. */
function areFiles(files: unknown[]): boolean {
  return files.every(isFile) && files.every(([first], at) => first >= (files[at - 1]?.[1] ?? 0))
}

function isProducer(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  const [id, epoch, seq, recent] = value as unknown[]
  // The protocol allows epochs and seqs of producers up to 2^53 - 1.
  return typeof id === 'string' && isWhole(epoch) && isWhole(seq) && areNumbers(recent)
}

/** The number of the request, and the seqs of its records; -1 for an end or a deletion. */
function isRequest(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  const [number, seqs] = value as unknown[]
  return isNumber(number) && Array.isArray(seqs) && seqs.every((seq) => seq === -1 || isNumber(seq))
}

/** Whether a stream of a catalog can be a fork of `source`. A chain of such forks ends. */
export function canBeForkOf({ created, meta, disk }: StreamState, source: StreamState | undefined): boolean {
  const { first } = disk.older?.[0] ?? disk
  return (
    meta.fork === undefined ||
    (source !== undefined &&
      source.created < created &&
      source.meta.encoding === meta.encoding &&
      meta.fork.seq <= Math.min(first, source.next))
  )
}
