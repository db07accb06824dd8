/** Headers as a message carries them, made of text that is ready: a tenth of the cost of the client's own. */
import type { MsgHdrs } from '@nats-io/transport-node'

export type HeaderList = readonly (readonly [name: string, value: string])[]

/** The lines of headers, none of which holds a line break. */
export function headerLines(list: HeaderList): string {
  let lines = ''
  for (const [name, value] of list) lines += `${name}: ${value}\r\n`
  return lines
}

/** What the client's `publish` asks of headers, and no more. */
class RawHeaders {
  readonly #lines: string

  constructor(lines: string) {
    this.#lines = lines
  }

  encode(): Uint8Array {
    return Buffer.from(`NATS/1.0\r\n${this.#lines}\r\n`)
  }
}

export function rawHeaders(lines: string): MsgHdrs {
  return new RawHeaders(lines) as unknown as MsgHdrs
}
