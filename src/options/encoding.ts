/** The option `encoding`: the conversion of values to the bytes of records and back. */
import { types } from 'node:util'
import { DurlogError, invalidArgument } from '../errors.js'
import type { Encoding, LogRecord, Payload } from '../types.js'
import { bag, shown } from './checks.js'
import { checkedDepth } from './json-text.js'

/** A checked encoding. */
export interface Codec {
  /** Whether values are neither bytes nor text: streams of such values are in object mode. */
  readonly objects: boolean
  /** Throws ERR_DURLOG_INVALID_ARGUMENT if `value` cannot be encoded. */
  encode(value: unknown): Payload
  /** Throws ERR_DURLOG_DECODE. */
  decode(record: LogRecord): unknown
}

const NAMES = 'json, utf8, buffer, or an object with encode and decode'

/**
 * Checks the option. Undefined without it: records are bytes and have no `value`. Throws ERR_DURLOG_INVALID_ARGUMENT.
 */
export function resolveEncoding(value: unknown): Codec | undefined {
  if (value === undefined) return undefined
  if (value === 'json') return codecOf('json', (data) => JSON.parse(data.toString()), encodeJson)
  if (value === 'utf8') return codecOf('utf8', (data) => data.toString(), encodeText, false)
  if (value === 'buffer') return codecOf('buffer', (data) => data, encodeBytes, false)
  if (typeof value !== 'object' || value === null)
    throw invalidArgument(`encoding must be ${NAMES}; got ${shown(value)}`)
  const { encode, decode } = bag('encoding', value, ['encode', 'decode']) as Partial<Encoding<unknown>>
  if (typeof encode !== 'function' || typeof decode !== 'function')
    throw invalidArgument('encoding must have the functions encode and decode')
  return codecOf('encoding', decode, (value) => encoded('encoding', () => encode(value)))
}

function codecOf(
  name: string,
  decode: (data: Buffer) => unknown,
  encode: (value: unknown) => Payload,
  objects = true,
): Codec {
  return {
    objects,
    encode,
    decode: ({ seq, data }) => {
      try {
        return decode(data)
      } catch (cause) {
        throw new DurlogError('ERR_DURLOG_DECODE', `record ${seq} cannot be decoded (${name}): ${reasonOf(cause)}`, {
          cause,
        })
      }
    },
  }
}

function encodeJson(value: unknown): Payload {
  // JSON.stringify would store its numbers, and a reader would not get bytes.
  if (types.isUint8Array(value))
    throw invalidArgument('a Uint8Array has no JSON form (encoding json): open the log without an encoding')
  const text = encoded('json', () => JSON.stringify(value) as string | undefined)
  if (text === undefined) throw invalidArgument(`a value must be one that JSON can represent; got ${shown(value)}`)
  return checkedDepth(text)
}

function encodeText(value: unknown): string {
  if (typeof value === 'string') return value
  throw invalidArgument(`a value must be a string (encoding utf8); got ${shown(value)}`)
}

function encodeBytes(value: unknown): Uint8Array {
  if (types.isUint8Array(value)) return value
  throw invalidArgument(`a value must be a Uint8Array (encoding buffer); got ${shown(value)}`)
}

function encoded<T>(name: string, encode: () => T): T {
  try {
    return encode()
  } catch (cause) {
    throw new DurlogError('ERR_DURLOG_INVALID_ARGUMENT', `a value cannot be encoded (${name}): ${reasonOf(cause)}`, {
      cause,
    })
  }
}

function reasonOf(cause: unknown): string {
  return types.isNativeError(cause) ? cause.message : shown(cause)
}
