/** Formats server-sent events. */
import type { StreamView } from '../streams/access.js'
import { bodyOf, type Chunk, isText } from './chunk.js'
import { currentCursor, offsetOf } from './offset.js'

/** Returns the event with the data of a chunk; '' if it has no records. */
export function dataEvent(state: StreamView, chunk: Chunk): string {
  if (chunk.records.length === 0) return ''
  const body = bodyOf(state, chunk)
  return `event: data\n${linesOf(isText(state) ? body.toString() : body.toString('base64'))}\n\n`
}

/** Returns the event with the offset after a chunk that ends at `next`. Its cursor is at least `leastCursor`. */
export function controlEvent(
  state: Pick<StreamView, 'visible' | 'endVisible'>,
  next: number,
  leastCursor: number,
): string {
  const atEnd = next === state.visible
  const control: Record<string, string | boolean> = { streamNextOffset: offsetOf(next) }
  if (atEnd && state.endVisible) control['streamClosed'] = true
  else control['streamCursor'] = String(Math.max(currentCursor(), leastCursor))
  if (atEnd) control['upToDate'] = true
  return `event: control\ndata:${JSON.stringify(control)}\n\n`
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
