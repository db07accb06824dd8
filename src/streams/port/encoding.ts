/** Encodes values of streams for the log and the streams' files, and decodes them. */
import { DurlogError, invalidArgument } from '../../errors.js'
import { isUnicode, shown } from '../../options/checks.js'
import { checkedDepth, splitMessages, tooDeep } from '../../options/json-text.js'
import type { StreamEncoding } from './types.js'

export interface StreamCodec {
  readonly name: StreamEncoding
  /** Whether a stream's file is JSON Lines; otherwise it consists of frames. */
  readonly lines: boolean
  /**
   * Returns bytes, or a string to store as UTF-8. Not for an EncodedValue with the encoding of this
   * codec. Throws ERR_DURLOG_INVALID_ARGUMENT.
   */
  encode(value: unknown): Buffer | string
  /** Throws a SyntaxError if `data` does not come from `encode`. */
  decode(data: Buffer): unknown
}

/**
 * An encoded value. A caller may not know the encoding of the stream, so a string is encoded as text, a Uint8Array as
 * bytes, and everything else as JSON. The codec of the stream accepts or refuses the encoded value as it would the
 * value itself.
 */
export class EncodedValue<Data extends Buffer | string = Buffer> {
  readonly encoding: StreamEncoding
  readonly data: Data

  constructor(encoding: StreamEncoding, data: Data) {
    this.encoding = encoding
    this.data = data
  }
}

/**
 * Encoded values in one memory, because an object for each would take more time than its bytes. With the encoding
 * `utf8`, all are strings, so that a stream of text takes them too.
 */
export class PackedValues {
  readonly encoding: StreamEncoding
  readonly bytes: Buffer
  /** For each value, the offsets at which it begins and ends. */
  readonly places: Uint32Array

  /** The caller must not change `bytes` after this. */
  constructor(encoding: StreamEncoding, bytes: Buffer, places: Uint32Array) {
    this.encoding = encoding
    this.bytes = bytes
    this.places = places
  }

  get length(): number {
    return this.places.length / 2
  }

  /** The value at the index `at`, with which the encoding of a stream is checked. */
  at(at: number): EncodedValue {
    return new EncodedValue(this.encoding, this.bytes.subarray(this.places[2 * at], this.places[2 * at + 1]))
  }

  /** The values as they are stored: a short single one is not packed. */
  get sent(): SentValues {
    return this.length === 1 && this.bytes.length <= COPIED_MAX_BYTES ? this.at(0) : this
  }
}

/** A value to store. */
export type SentValue = EncodedValue<Buffer | string>

/** The values of one append. */
export type SentValues = SentValue | PackedValues

export const NO_VALUES: PackedValues = new PackedValues('json', Buffer.alloc(0), new Uint32Array(0))

export function countOf(values: SentValues): number {
  return values instanceof PackedValues ? values.length : 1
}

export function packedOf(values: SentValues): PackedValues {
  return values instanceof PackedValues ? values : packed([values])
}

/** `values` after `first`. Throws as `packed`. */
export function withFirst(first: SentValue, values: SentValues): PackedValues {
  const rest =
    values instanceof PackedValues ? Array.from({ length: values.length }, (_, at) => values.at(at)) : [values]
  return packed([first, ...rest])
}

/** `values` in one memory. Throws ERR_DURLOG_INVALID_ARGUMENT if no stream can take all of them. */
export function packed(values: readonly SentValue[]): PackedValues {
  const encodings = new Set(values.map(({ encoding }) => encoding))
  const [encoding = 'json'] = encodings
  if (encodings.size > 1 && encodings.has('buffer'))
    throw invalidArgument('values must all be Uint8Arrays, or none of them: a stream has one encoding')
  const parts = values.map(({ data }) => Buffer.from(data as string))
  const places = new Uint32Array(2 * parts.length)
  let end = 0
  for (const [at, part] of parts.entries()) {
    places[2 * at] = end
    end += part.length
    if (end > GROUP_MAX_BYTES) throw tooLargeBatch(end)
    places[2 * at + 1] = end
  }
  return new PackedValues(encodings.size > 1 ? 'json' : encoding, Buffer.concat(parts, end), places)
}

/** Longer values are stored without a copy of them, which would take milliseconds. */
const COPIED_MAX_BYTES = 1 << 15

/** A single value as it is stored. The caller must not change `data` after this. */
export function sentValue(encoding: StreamEncoding, data: Buffer): SentValues {
  return new PackedValues(encoding, data, Uint32Array.of(0, data.length)).sent
}

/** The maximum number of the values of one append. */
export const VALUES_MAX = 65_535
/** The maximum length of a record, in bytes. */
export const RECORD_MAX_BYTES: number = 8 << 20
/** More than any batch: it must fit into one segment of the log. */
export const GROUP_MAX_BYTES: number = 2 * RECORD_MAX_BYTES + (1 << 16)

/** The encodings by their numbers in entries and messages. */
export const ENCODINGS: readonly (StreamEncoding | undefined)[] = [undefined, 'json', 'utf8', 'buffer']
export const ENCODING_NUMBERS: Record<StreamEncoding, number> = { json: 1, utf8: 2, buffer: 3 }

const CODECS: Record<StreamEncoding, StreamCodec> = {
  json: { name: 'json', lines: true, encode: encodeJson, decode: decodeJson },
  utf8: { name: 'utf8', lines: true, encode: encodeText, decode: decodeJson },
  buffer: { name: 'buffer', lines: false, encode: encodeBytes, decode: (data) => data },
}

export function codecOf(encoding: StreamEncoding): StreamCodec {
  return CODECS[encoding]
}

/** For the owner's readers: decodes nothing, so that values are sent to clients as they are stored. */
export function storedCodecOf(encoding: StreamEncoding): StreamCodec {
  return STORED_CODECS[encoding]
}

function storedCodec(codec: StreamCodec): StreamCodec {
  return { ...codec, decode: (data) => new EncodedValue(codec.name, data) }
}

const STORED_CODECS: Record<StreamEncoding, StreamCodec> = {
  json: storedCodec(CODECS.json),
  utf8: storedCodec(CODECS.utf8),
  buffer: storedCodec(CODECS.buffer),
}

/** Encodes a value for a stream. Throws ERR_DURLOG_INVALID_ARGUMENT or ERR_DURLOG_RECORD_TOO_LARGE. */
export function encode(codec: StreamCodec, value: unknown): Buffer | string {
  const encoded = value instanceof EncodedValue && value.encoding === codec.name ? value.data : codec.encode(value)
  // A UTF-16 code unit has at most 3 bytes in UTF-8.
  if (3 * encoded.length > RECORD_MAX_BYTES && Buffer.byteLength(encoded) > RECORD_MAX_BYTES)
    throw new DurlogError(
      'ERR_DURLOG_RECORD_TOO_LARGE',
      `a record must have at most ${RECORD_MAX_BYTES} bytes; got ${Buffer.byteLength(encoded)}: split it`,
    )
  return encoded
}

/** Encodes a value for any stream. Throws like `encode`. */
export function encodeForAny(value: unknown): SentValue {
  const encoding = typeof value === 'string' ? 'utf8' : value instanceof Uint8Array ? 'buffer' : 'json'
  return new EncodedValue(encoding, encode(codecOf(encoding), value))
}

/** The values in a text of JSON. Copies it, because the caller may change it. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function valuesInJson(text: unknown): SentValues {
  const isString = typeof text === 'string'
  if (!isString && !(text instanceof Uint8Array))
    throw invalidArgument(`text must be JSON in a string or a Uint8Array; got ${shown(text)}`)
  const bytes = Buffer.from(text as string)
  const places = isString && !isUnicode(text) ? 'invalid' : splitMessages(bytes, VALUES_MAX)
  if (places === 'too deep') throw tooDeep()
  if (places === 'too many' || places.length === 0)
    throw invalidArgument(`text must have 1 to ${VALUES_MAX} values: split it`)
  if (places === 'invalid') throw invalidArgument('text must be JSON in UTF-8')
  return new PackedValues('json', bytes, places).sent
}

/** Encodes the values of one append for any stream. Throws like `encode`. */
export function encodeAll(values: readonly unknown[]): SentValues {
  if (values.length === 0) return NO_VALUES
  return values.length === 1
    ? encodeForAny(values[0])
    : (stringified(values) ?? packed(Array.from(values, encodeForAny)))
}

export function tooLargeBatch(bytes: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_BATCH_TOO_LARGE',
    `a batch must have at most ${GROUP_MAX_BYTES} bytes; got ${bytes}: split it`,
  )
}

/**
 * Encodes all values with one call of JSON.stringify. Returns undefined if they must be encoded one by one: they have
 * different encodings, or one of them has no JSON form or is too long or nested too deeply, which is then reported.
 */
function stringified(values: readonly unknown[]): PackedValues | undefined {
  const encoding = typeof values[0] === 'string' ? 'utf8' : 'json'
  for (const value of values) {
    if ((typeof value === 'string') !== (encoding === 'utf8')) return undefined
    if (value instanceof Uint8Array || value instanceof EncodedValue) return undefined
  }
  let bytes: Buffer
  try {
    bytes = Buffer.from(JSON.stringify(values))
  } catch {
    return undefined
  }
  const places = splitMessages(bytes, values.length)
  if (typeof places === 'string' || places.length !== 2 * values.length) return undefined
  for (let at = 0; at < values.length; at++) {
    const length = (places[2 * at + 1] as number) - (places[2 * at] as number)
    // In an array, `null` also stands for a value that has no JSON form.
    if (length > RECORD_MAX_BYTES || (length === 4 && values[at] !== null && bytes[places[2 * at] as number] === 0x6e))
      return undefined
  }
  return new PackedValues(encoding, bytes, places)
}

function encodeJson(value: unknown): Buffer | string {
  // Refused, because JSON.stringify returns different JSON for a Buffer and for another Uint8Array.
  if (value instanceof Uint8Array || (value instanceof EncodedValue && value.encoding === 'buffer'))
    throw invalidArgument('a Uint8Array has no JSON form (encoding json): create the stream with the encoding buffer')
  if (value instanceof EncodedValue) return value.data
  let text: string | undefined
  try {
    text = JSON.stringify(value) as string | undefined
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new DurlogError('ERR_DURLOG_INVALID_ARGUMENT', `a value cannot be encoded as JSON: ${reason}`, { cause })
  }
  if (text === undefined) throw invalidArgument(`a value must have a JSON form (encoding json); got ${shown(value)}`)
  return checkedDepth(text)
}

function encodeText(value: unknown): Buffer | string {
  if (typeof value !== 'string')
    throw invalidArgument(`a value must be a string (encoding utf8); got ${shownValue(value)}`)
  return JSON.stringify(value)
}

/** Copies the bytes, because the caller may change them after the call. */
function encodeBytes(value: unknown): Buffer {
  if (!(value instanceof Uint8Array))
    throw invalidArgument(`a value must be a Uint8Array (encoding buffer); got ${shownValue(value)}`)
  return Buffer.from(value)
}

function shownValue(value: unknown): string {
  if (!(value instanceof EncodedValue)) return shown(value)
  const decoded = CODECS[value.encoding as StreamEncoding].decode(value.data)
  // The JSON of an object can be a string, for example that of a Date.
  return value.encoding === 'json' && typeof decoded === 'string' ? 'an object' : shown(decoded)
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
    if (found.length !== count) return undefined
    const values: unknown[] = []
    for (const line of found) {
      if (line.length !== 1) return undefined
      values.push(line[0])
    }
    return values
  } catch {
    return undefined
  }
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT if the caller has chosen another encoding than that of the streams in `dir`. */
export function checkEncoding(dir: string, chosen: string | undefined, encoding: StreamEncoding): void {
  if (chosen !== undefined && chosen !== encoding)
    throw invalidArgument(
      `encoding is ${chosen}, but the streams in ${dir} have the encoding ${encoding}: use that, or leave the option out`,
    )
}
