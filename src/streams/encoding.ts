/** Encodes values of streams for the log and the streams' files, and decodes them. */
import { DurlogError, invalidArgument } from '../errors.js'
import { shown } from '../options/checks.js'
import type { StreamEncoding } from './types.js'

export interface StreamCodec {
  readonly name: StreamEncoding
  /** Whether a stream's file is JSON Lines; otherwise it consists of frames. */
  readonly lines: boolean
  /** Returns bytes, or a string to store as UTF-8. Throws ERR_DURLOG_INVALID_ARGUMENT. */
  encode(value: unknown): Buffer | string
  /** Throws a SyntaxError if `data` does not come from `encode`. */
  decode(data: Buffer): unknown
}

/** A value in the form in which a client has encoded it: JSON, or the bytes of a Uint8Array. */
export class EncodedValue {
  readonly isJson: boolean
  readonly data: Buffer

  constructor(isJson: boolean, data: Buffer) {
    this.isJson = isJson
    this.data = data
  }
}

const CODECS: Record<StreamEncoding, StreamCodec> = {
  json: { name: 'json', lines: true, encode: encodeJson, decode: decodeJson },
  text: { name: 'text', lines: true, encode: encodeText, decode: decodeJson },
  bytes: { name: 'bytes', lines: false, encode: encodeBytes, decode: (data) => data },
}

export function codecOf(encoding: StreamEncoding): StreamCodec {
  return CODECS[encoding]
}

/** For the owner's readers: decodes nothing, so that values are sent to clients as they are stored. */
export function storedCodecOf(encoding: StreamEncoding): StreamCodec {
  return STORED_CODECS[encoding]
}

function storedCodec(codec: StreamCodec): StreamCodec {
  return { ...codec, decode: (data) => new EncodedValue(codec.lines, data) }
}

const STORED_CODECS: Record<StreamEncoding, StreamCodec> = {
  json: storedCodec(CODECS.json),
  text: storedCodec(CODECS.text),
  bytes: storedCodec(CODECS.bytes),
}

function encodeJson(value: unknown): Buffer | string {
  if (value instanceof EncodedValue) return value.isJson ? value.data : encodeJson(value.data)
  let text: string | undefined
  try {
    text = JSON.stringify(value) as string | undefined
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new DurlogError('ERR_DURLOG_INVALID_ARGUMENT', `a value cannot be encoded as JSON: ${reason}`, { cause })
  }
  if (text === undefined) throw invalidArgument(`a value must have a JSON form (encoding json); got ${shown(value)}`)
  return text
}

function encodeText(value: unknown): Buffer | string {
  if (value instanceof EncodedValue && value.isJson && value.data[0] === 0x22) return value.data
  if (typeof value !== 'string')
    throw invalidArgument(`a value must be a string (encoding text); got ${shownValue(value)}`)
  return JSON.stringify(value)
}

/** Copies the bytes, because the caller may change them after the call. */
function encodeBytes(value: unknown): Buffer {
  if (value instanceof EncodedValue && !value.isJson) return value.data
  if (!(value instanceof Uint8Array))
    throw invalidArgument(`a value must be a Uint8Array (encoding bytes); got ${shownValue(value)}`)
  return Buffer.from(value)
}

function shownValue(value: unknown): string {
  if (!(value instanceof EncodedValue)) return shown(value)
  return shown(value.isJson ? decodeJson(value.data) : value.data)
}

function decodeJson(data: Buffer): unknown {
  return JSON.parse(data.toString())
}

/**
 * Decodes `count` lines with one call of JSON.parse, which takes less time than a call for each. Each line is put into
 * an array, so that a line with two values is not taken for two lines. Returns undefined if `codec` does not parse JSON
 * or if a line may be damaged: then decode each line to find the damaged one.
 */
export function decodeLines({ decode }: StreamCodec, lines: Buffer, count: number): unknown[] | undefined {
  if (decode !== decodeJson) return undefined
  try {
    const found = JSON.parse(
      `[[${lines.toString('utf8', 0, lines.length - 1).replaceAll('\n', '],[')}]]`,
    ) as unknown[][]
    return found.length === count && found.every(({ length }) => length === 1)
      ? found.map(([value]) => value)
      : undefined
  } catch {
    return undefined
  }
}
