/** Reads data of streams as server-sent events. */
import type { StreamView } from '../streams/port/port.js'
import { isText, readChunk } from './chunk.js'
import { EMPTY } from './exchange.js'
import { currentCursor, offsetOf } from './offset.js'
import type { Service } from './service.js'

/** The limit of the records of an event, unless one is longer. */
export const EVENT_BYTES: number = 1 << 18

export interface DataEvent {
  /** The event; empty if there are no records. */
  data: Buffer
  /** The seq after the last record. */
  next: number
}

/**
 * The number of records that can complete the character in which a record ends: each adds at least one of its 4 bytes.
 */
const COMPLETING_RECORDS = 3

/**
 * Reads visible records from seq `from` on as an event. A text does not end inside a character that later records
 * complete.
 */
export async function readEvent(service: Service, state: StreamView, from: number): Promise<DataEvent> {
  let { body, next } = await readChunk(service, state, from, EVENT_BYTES)
  if (next === from) return { data: EMPTY, next }
  const hasText = isText(state)
  for (let more = 0; more < COMPLETING_RECORDS && hasText && endsInCharacter(body) && next < state.visible; more++) {
    const following = await readChunk(service, state, next, 1)
    body = Buffer.concat([body, following.body])
    next = following.next
  }
  const text = hasText ? body.toString() : body.toString('base64')
  return { data: Buffer.from(`id: ${offsetOf(service.access, state, next)}\nevent: data\n${linesOf(text)}\n\n`), next }
}

/** Whether the last character of `text` in UTF-8 lacks bytes. */
function endsInCharacter(text: Buffer): boolean {
  for (let bytes = 1; bytes <= Math.min(3, text.length); bytes++) {
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

/**
 * Formats text as data lines. A space at the beginning of a line is doubled, because a reader removes one after the
 * colon.
 */
function linesOf(text: string): string {
  const unix = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
  // This takes a third of the time of a replacement by a regular expression.
  const lines = `\ndata:${unix.split('\n').join('\ndata:')}`
  const isSpaced = unix.startsWith(' ') || unix.includes('\n ')
  return (isSpaced ? lines.replaceAll('\ndata: ', '\ndata:  ') : lines).slice(1)
}
