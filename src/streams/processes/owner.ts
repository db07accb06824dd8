/** The owner of a folder of streams: opens the folder and serves its clients, which are processes of the same user. */
import { createServer, type Server } from 'node:net'
import type { AppendDurability } from '../../index.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { folderIdOf } from '../../support/folder-id.js'
import { clearInterval, clock, setInterval } from '../../timers.js'
import type { LocalPort } from '../core/local-port.js'
import { openLocal } from '../core/open-store.js'
import { resolveStreamsOptions } from '../port/options.js'
import type { StreamsOptions } from '../port/types.js'
import type { DedupTable } from '../state/dedup-table.js'
import { type Address, listenIn } from './address.js'
import { ClientSession } from './client-session.js'
import { sentError } from './messages.js'

/** How long the results of a disconnected client are kept. Longer than a client repeats requests. */
const FORGET_AFTER_MS = 60_000
const SWEEP_MS = 5_000

export class Owner {
  readonly #server: Server
  readonly #port: Promise<LocalPort>
  readonly #sessions = new Set<ClientSession>()
  /** For each disconnected client with results, the time when it was first missed. */
  readonly #missing = new Map<string, number>()
  #sweep: NodeJS.Timeout | undefined
  #address: Address | undefined
  #folder = ''

  /**
   * `port` may still be opening, but this process must have the folder's lock. `own` is the client of this process.
   */
  constructor(port: Promise<LocalPort>, durability: AppendDurability, own: string) {
    this.#port = port
    this.#server = createServer((socket) => {
      this.#sessions.add(
        new ClientSession(socket, {
          port: this.#port,
          durability,
          own,
          folder: this.#folder,
          onClient: ({ client }) => this.#missing.delete(client),
          onClosed: (session) => this.#sessions.delete(session),
        }),
      )
    })
    port.then(
      (opened) => this.#onOpen(opened),
      () => {},
    )
  }

  async listen(dir: string): Promise<void> {
    this.#folder = await folderIdOf(dir)
    this.#address = await listenIn(dir, this.#server)
  }

  /** Accepts no more clients, and leaves the address to the next owner. */
  stop(): void {
    this.#server.close()
    this.#address?.release()
  }

  /**
   * Closes the folder, with a checkpoint if no client except `own` is connected. Otherwise one of the other clients
   * becomes the owner and makes the checkpoint.
   */
  async close(own: string): Promise<void> {
    this.#server.close()
    for (const session of this.#sessions) session.stop()
    const port = await this.#port
    clearInterval(this.#sweep)
    try {
      await port.close([...this.#sessions].every(({ client }) => client === own || client === ''))
    } finally {
      for (const session of this.#sessions) session.end()
      this.#address?.release()
    }
  }

  #onOpen(port: LocalPort): void {
    port.onEvent = (name, value) => {
      const sent = name === 'checkpointFailed' ? sentError(value) : value
      for (const session of this.#sessions) session.event(name, sent)
    }
    this.#sweep = setInterval(() => this.#forget(port.table.dedup), SWEEP_MS).unref()
  }

  #forget(dedup: DedupTable): void {
    const now = clock.now()
    const connected = new Set([...this.#sessions].map(({ client }) => client))
    for (const client of dedup.clients) {
      if (connected.has(client)) continue
      const since = this.#missing.get(client) ?? now
      this.#missing.set(client, since)
      if (now - since < FORGET_AFTER_MS) continue
      dedup.forget(client)
      this.#missing.delete(client)
    }
  }
}

/**
 * Takes the folder's lock and opens the folder. Resolves when clients can connect; they are welcomed when the folder is
 * open. If it cannot be opened, only the client `own` gets the error: another process may be able to open it. Rejects
 * with ERR_DURLOG_LOCKED if another process has the lock.
 */
export async function startOwner(dir: string, options: StreamsOptions, own: string): Promise<Owner> {
  let onLocked: () => void = () => {}
  const locked = new Promise<void>((resolve) => {
    onLocked = resolve
  })
  let listening: Promise<Owner> | undefined
  // Before the lock is released: the next owner listens on the same path.
  const onFailed = async (): Promise<void> => (await listening?.catch(() => undefined))?.stop()
  const resolved = resolveStreamsOptions(options)
  const port = openLocal(dir, resolved, { forClients: true, onLocked, onFailed })
  await Promise.race([locked, port])
  const owner = new Owner(port, resolved.durability, own)
  try {
    listening = owner.listen(dir).then(() => owner)
    return await listening
  } catch (error) {
    await port.then((opened) => opened.close()).catch(() => {})
    throw ofFileSystem(error)
  }
}
