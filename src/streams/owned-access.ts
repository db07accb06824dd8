/** The access of `durlog/http` to a folder of streams that this process owns. */
import { queueMicrotask } from '../timers.js'
import type { Awaitable, EncodedCreation, Group, SeenState, StreamsAccess, StreamsStats, StreamView } from './access.js'
import type { Body, BodyRead } from './body.js'
import type { Settle } from './call.js'
import { makeStream } from './creation.js'
import { noSuchStream } from './decide.js'
import { EntryKind } from './entry.js'
import { following, groupItems, type StreamContext } from './items.js'
import type { Item } from './sequencer.js'
import type { StreamState } from './state.js'
import { NamedStream } from './stream.js'
import type { StreamIdentities } from './stream-identities.js'
import { changeOf } from './stream-reader.js'
import type { StreamAppendResult } from './types.js'

export interface OwnedContext extends StreamContext {
  readonly identities: StreamIdentities
  /** Adds records from seq `from` on, before seq `to`, to `body`: see `StreamsAccess.read`. */
  read(state: StreamState, from: number, to: number, body: Body): Promise<BodyRead>
  /** Like `submit`, with a callback instead of a promise. The result is that of the first item. */
  groupThen(items: readonly Item[], settle: Settle<StreamAppendResult>): void
}

export class OwnedAccess implements StreamsAccess {
  readonly #context: OwnedContext

  constructor(context: OwnedContext) {
    this.#context = context
  }

  get identities(): StreamIdentities {
    return this.#context.identities
  }

  checkOpen(): void {
    this.#context.checkOpen()
  }

  find(name: string, isRead = false): Awaitable<StreamState | undefined> {
    const found = this.#find(name, isRead)
    const table = this.#context.table()
    // The log may still lose the deletion.
    if (found?.softDeleted === false || !table.isDeleting(name)) return found
    return changeOf(table, name).then(() => this.find(name, isRead))
  }

  #find(name: string, isRead = false): StreamState | undefined {
    const state = this.#context.find(name)
    if (state === undefined) {
      const kept = this.#context.table().find(name)
      return kept?.softDeleted === true ? kept : undefined
    }
    if (isRead) state.use()
    return state
  }

  inherits(name: string, identity: string, seq: number): boolean {
    let at = this.#context.table().find(name)
    while (at?.source !== undefined && seq <= at.start) {
      at = at.source
      if (this.identities.of(at.created) === identity) return true
    }
    return false
  }

  producerSeq(name: string, id: string): number | undefined {
    return this.#context.table().find(name)?.producers.get(id)?.seq
  }

  append(name: string, groupOf: (stream: StreamView | undefined) => Group, settle: Settle<StreamAppendResult>): void {
    const context = this.#context
    context.removeExpired(name)
    const state = this.#find(name)
    const group = groupOf(state)
    if (state === undefined) throw noSuchStream(name)
    context.groupThen(groupItems(name, state.meta.encoding, group), settle)
  }

  async create(name: string, request: EncodedCreation, values: readonly (Buffer | string)[]): Promise<boolean> {
    const [first] = await makeStream(this.#context, name, request, (creation) =>
      values.map((value) => following(EntryKind.append, creation, value)),
    )
    return first?.duplicate === false
  }

  delete(name: string): Promise<boolean> {
    return new NamedStream(this.#context, name).delete()
  }

  async read(
    { name, created, visible }: Pick<StreamView, 'name' | 'created' | 'visible'>,
    from: number,
    body: Body,
  ): Promise<BodyRead> {
    const state = this.state(name, created)
    try {
      return await this.#context.read(state, from, visible, body)
    } finally {
      // If the stream was deleted meanwhile, the file may be missing, or be that of a new stream with the same name.
      this.state(name, created)
    }
  }

  /** The stream that the entry at `created` created. Throws ERR_DURLOG_NOT_FOUND if it was deleted. */
  state(name: string, created: number): StreamState {
    const state = this.#context.table().find(name)
    if (state?.created !== created) throw noSuchStream(name)
    return state
  }

  /** `seen` may be the state itself, which changes in place, so its members are copied. */
  onChange({ name, created, visible, endVisible }: SeenState, wake: () => void): () => void {
    const seen = { name, created, visible, endVisible }
    let isForgotten = false
    let forget = (): void => {}
    const look = (): void => {
      if (isForgotten) return
      if (this.#hasChanged(seen)) wake()
      else forget = this.#context.table().onChange(name, look)
    }
    if (this.#hasChanged(seen)) queueMicrotask(look)
    else look()
    return () => {
      isForgotten = true
      forget()
    }
  }

  #hasChanged({ name, created, visible, endVisible }: SeenState): boolean {
    const state = this.#context.find(name)
    if (state === undefined) return created !== -1
    return state.created !== created || state.visible > visible || state.endVisible !== endVisible
  }

  async list(prefix: string, after: string, count: number): Promise<StreamState[]> {
    const table = this.#context.table()
    // Found before the wait: the log may still lose deletions that begin during it.
    const found = this.#firstStreams(prefix, after, count)
    await Promise.all(table.deletions(prefix).map((name) => this.find(name)))
    // If a deletion was lost, the table was replaced.
    return table === this.#context.table() ? found : this.list(prefix, after, count)
  }

  #firstStreams(prefix: string, after: string, count: number): StreamState[] {
    const found: StreamState[] = []
    for (const name of this.#context.table().streams.names()) {
      if (!name.startsWith(prefix) || name <= after) continue
      if (found.length === count && name > (found[count - 1] as StreamState).name) continue
      const state = this.#context.find(name)
      if (state === undefined) continue
      let [low, high] = [0, found.length]
      while (low < high) {
        const middle = (low + high) >>> 1
        if ((found[middle] as StreamState).name < name) low = middle + 1
        else high = middle
      }
      found.splice(low, 0, state)
      if (found.length > count) found.pop()
    }
    return found
  }

  count(prefix: string): number {
    let streams = 0
    for (const name of this.#context.table().streams.names()) if (name.startsWith(prefix)) streams++
    return streams
  }

  stats(): StreamsStats {
    const { streams, memTable } = this.#context.table()
    return { streams: streams.size, memTableBytes: memTable.bytes }
  }
}
