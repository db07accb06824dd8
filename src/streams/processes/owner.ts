/** The owner of a folder of streams: opens it, and serves the processes of this user. */
import { createServer, type Server } from 'node:net'
import { clearInterval, setInterval } from 'node:timers'
import type { Durability } from '../../index.js'
import type { EncodedValue } from '../encoding.js'
import { openWithInternals } from '../open.js'
import type { StreamStore } from '../store.js'
import type { StreamsEvents, StreamsOptions } from '../types.js'
import { type Address, newAddress } from './address.js'
import { sentError } from './messages.js'
import { Session } from './session.js'

/** The results of a client that is not connected are kept for so long. Longer than a client repeats requests. */
export const FORGET_AFTER_MS = 60_000
const SWEEP_MS = 5_000
const EVENTS = ['checkpoint', 'checkpointFailed', 'changed'] as const satisfies (keyof StreamsEvents)[]

export class Owner {
  readonly #server: Server
  readonly #store: Promise<StreamStore<EncodedValue>>
  readonly #sessions = new Set<Session>()
  /** Since when a client with results is not connected. */
  readonly #missing = new Map<string, number>()
  #sweep: NodeJS.Timeout | undefined
  #address: Address | undefined

  /** `store` may still be opening, but this process has its lock. */
  constructor(store: Promise<StreamStore<EncodedValue>>, durability: Durability) {
    this.#store = store
    this.#server = createServer((socket) => {
      this.#sessions.add(
        new Session(socket, {
          store: this.#store,
          durability,
          onClient: ({ client }) => this.#missing.delete(client),
          onClosed: (session) => this.#sessions.delete(session),
        }),
      )
    })
    store.then(
      (opened) => this.#onOpen(opened),
      () => {},
    )
  }

  async listen(dir: string): Promise<void> {
    this.#address = await newAddress(dir)
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ path: this.#address?.path as string, backlog: 1024 }, resolve)
    })
  }

  /** Closes the folder. If clients other than `own` are connected, one of them continues at once, and makes the checkpoint. */
  async close(own: string): Promise<void> {
    clearInterval(this.#sweep)
    this.#server.close()
    for (const session of this.#sessions) session.stop()
    const store = await this.#store
    try {
      await store.close([...this.#sessions].every(({ client }) => client === own || client === ''))
    } finally {
      for (const session of this.#sessions) session.end()
      this.#address?.release()
    }
  }

  #onOpen(store: StreamStore<EncodedValue>): void {
    for (const name of EVENTS)
      store.on(name, (value: unknown) => {
        const sent = name === 'checkpointFailed' ? sentError(value) : value
        for (const session of this.#sessions) session.event(name, sent)
      })
    this.#sweep = setInterval(() => this.#forget(store), SWEEP_MS).unref()
  }

  #forget(store: StreamStore<EncodedValue>): void {
    const now = performance.now()
    const connected = new Set([...this.#sessions].map(({ client }) => client))
    for (const client of store.requests.clients) {
      if (connected.has(client)) continue
      const since = this.#missing.get(client) ?? now
      this.#missing.set(client, since)
      if (now - since < FORGET_AFTER_MS) continue
      store.requests.forget(client)
      this.#missing.delete(client)
    }
  }
}

/**
 * Takes the folder's lock and opens it; resolves when other processes can connect, which are welcomed when the folder is
 * open. Rejects with ERR_DURLOG_LOCKED if another process has it.
 */
export async function startOwner(dir: string, options: StreamsOptions): Promise<Owner> {
  let onLocked: () => void = () => {}
  const locked = new Promise<void>((resolve) => {
    onLocked = resolve
  })
  const store = openWithInternals(dir, options, { forClients: true, onLocked }) as Promise<StreamStore<EncodedValue>>
  await Promise.race([locked, store])
  const owner = new Owner(store, options.durability ?? 'sync')
  try {
    await owner.listen(dir)
  } catch (error) {
    await store.then((opened) => opened.close()).catch(() => {})
    throw error
  }
  return owner
}
