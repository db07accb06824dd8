/** The program of the owner's thread. See docs/STREAMS.md, "Several processes". */
import { parentPort } from 'node:worker_threads'
import type { StreamsOptions } from '../port/types.js'
import { sentError } from './messages.js'
import { type Owner, startOwner } from './owner.js'

export type ToOwner =
  | { kind: 'start'; dir: string; options: StreamsOptions; client: string }
  | { kind: 'close'; client: string }
export type FromOwner = { kind: 'started' | 'closed' } | { kind: 'failed'; error: object }

const port = parentPort as NonNullable<typeof parentPort>
let owner: Owner | undefined

function post(message: FromOwner): void {
  port.postMessage(message)
}

async function handle(message: ToOwner): Promise<void> {
  try {
    if (message.kind === 'start') owner = await startOwner(message.dir, message.options, message.client)
    else await owner?.close(message.client)
    post({ kind: message.kind === 'start' ? 'started' : 'closed' })
  } catch (error) {
    post({ kind: 'failed', error: sentError(error) })
  }
}

port.on('message', (message: ToOwner) => void handle(message))
