/** Reads data of streams as server-sent events. */
import { StringDecoder } from 'node:string_decoder'
import type { StreamView } from '../streams/port/port.js'
import { TimeSlice } from '../support/time-slice.js'
import { isText, readChunk } from './chunk.js'
import { currentCursor, offsetOf } from './offset.js'
import type { Service } from './service.js'

/** The limit of the records of an event, unless one is longer. */
export const EVENT_BYTES: number = 1 << 18

/**
 * So many bytes are formatted in less than a millisecond, even if all of them are line breaks. A multiple of 3, so that
 * the base64 of a part needs no padding.
 */
const PART_BYTES = 3 << 13

export interface DataEvent {
  /** The parts of the event; none if there are no records. */
  data: Buffer[]
  /** The seq after the last record. */
  next: number
}

/**
 * The number of records that can complete the character in which a record ends: each adds at least one of its 4 bytes.
 */
const COMPLETING_RECORDS = 3
const CHARACTER_MAX_BYTES = 4

/**
 * Reads visible records from seq `from` on as an event. A text does not end inside a character that later records
 * complete.
 */
export async function readEvent(service: Service, state: StreamView, from: number): Promise<DataEvent> {
  let { body, next } = await readChunk(service, state, from, EVENT_BYTES)
  if (next === from) return { data: [], next }
  const bodies = [body]
  const hasText = isText(state)
  for (
    let last = body;
    hasText && endsInCharacter(last) && next < state.visible && bodies.length <= COMPLETING_RECORDS;
  ) {
    ;({ body, next } = await readChunk(service, state, next, 1))
    bodies.push(body)
    last = Buffer.concat([last.subarray(-CHARACTER_MAX_BYTES), body.subarray(-CHARACTER_MAX_BYTES)])
  }
  const head = `id: ${offsetOf(service.access, state, next)}\nevent: data\ndata:`
  return { data: await formatted(head, bodies, hasText ? new DataLines() : BASE64), next }
}

/** Returns the event that begins with `head`, in parts. */
async function formatted(head: string, bodies: readonly Buffer[], format: Format): Promise<Buffer[]> {
  const parts: Buffer[] = []
  const slice = new TimeSlice()
  let text = head
  for (const body of bodies)
    for (let at = 0; at < body.length; at += PART_BYTES) {
      if (slice.isSpent) await slice.nextTurn()
      if (at > 0) {
        parts.push(Buffer.from(text))
        text = ''
      }
      text += format.write(body.subarray(at, at + PART_BYTES))
    }
  parts.push(Buffer.from(`${text}${format.end()}\n\n`))
  return parts
}

/** Formats the parts of a body. */
interface Format {
  write(part: Buffer): string
  end(): string
}

const BASE64: Format = { write: (part) => part.toString('base64'), end: () => '' }

/**
 * Formats a text as data lines, the first of which has begun. A space at the beginning of a line is doubled, because a
 * reader removes one after the colon.
 */
class DataLines implements Format {
  readonly #decoder = new StringDecoder('utf8')
  #isLineStart = true
  /** The text so far ends with a carriage return, which a line feed may follow. */
  #hasReturn = false

  write(part: Buffer): string {
    return this.#lines(this.#decoder.write(part))
  }

  end(): string {
    return this.#lines(this.#decoder.end())
  }

  #lines(text: string): string {
    if (text === '') return ''
    const rest = this.#hasReturn && text.startsWith('\n') ? text.slice(1) : text
    this.#hasReturn = text.endsWith('\r')
    const unix = rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest
    // This takes a third of the time of a replacement by a regular expression.
    const lines = unix.split('\n').join('\ndata:')
    const spaced = unix.includes('\n ') ? lines.replaceAll('\ndata: ', '\ndata:  ') : lines
    const first = this.#isLineStart && unix.startsWith(' ') ? ' ' : ''
    if (unix !== '') this.#isLineStart = unix.endsWith('\n')
    return first + spaced
  }
}

/** Whether the last character of `text` in UTF-8 lacks bytes. */
function endsInCharacter(text: Buffer): boolean {
  for (let bytes = 1; bytes < Math.min(CHARACTER_MAX_BYTES, text.length + 1); bytes++) {
    const byte = text[text.length - bytes] as number
    if (byte >= 0xc0) return bytes < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2)
    if (byte < 0x80) return false
  }
  return false
}

/** Returns the event with the offset after a chunk that ends at `next`. Its cursor is at least `leastCursor`. */
export function controlEvent(
  { access }: Service,
  state: Pick<StreamView, 'created' | 'visible' | 'endVisible'>,
  next: number,
  leastCursor: number,
): Buffer {
  const atEnd = next === state.visible
  const offset = offsetOf(access, state, next)
  const control: Record<string, string | boolean> = { streamNextOffset: offset }
  if (atEnd && state.endVisible) control['streamClosed'] = true
  else control['streamCursor'] = String(Math.max(currentCursor(), leastCursor))
  if (atEnd) control['upToDate'] = true
  return Buffer.from(`id: ${offset}\nevent: control\ndata:${JSON.stringify(control)}\n\n`)
}
