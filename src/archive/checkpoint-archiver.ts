/** Archives the checkpoints of a folder of streams, and removes the objects that no kept checkpoint needs. */
import { ShipConflict } from '../ship/conflict.js'
import { clock } from '../timers.js'
import { deleteParts } from './boundary.js'
import type { Bucket } from './bucket.js'
import { type CheckpointManifest, manifestText } from './checkpoint-format.js'
import { type ArchivedCheckpoint, uploadCheckpoint } from './checkpoint-upload.js'
import { checkpointsOf, listCheckpoints, type StoredCheckpoint, streamsOf } from './checkpoints.js'
import { inParallel } from './in-parallel.js'
import { archiveRoot, checkpointFolder, digitsOf, packFolder } from './layout.js'
import { type History, listFolder, listHistories, listParts, listPieces } from './manifest.js'
import { sha256Of } from './piece.js'
import type { ArchivePosition } from './position.js'

/** A checkpoint is archived when this time has passed, or this many bytes of the main log were archived. */
const INTERVAL_MS = 300_000
const INTERVAL_BYTES = 64 * 2 ** 20
/** A checkpoint is kept for this long after the next one, because a restore may be reading it. */
const SHORTEST_HISTORY_MS = 3_600_000
/** A pack that no checkpoint names is removed after this time: another archiver may be about to name it. */
const ORPHAN_MS = 86_400_000

export interface CheckpointOptions {
  uuid: string
  /** The folder of the streams. */
  dir: string
  historyMs: number
  onStored: () => void
}

export class CheckpointArchiver {
  readonly #bucket: Bucket
  readonly #root: string
  readonly #options: CheckpointOptions
  /** The checkpoints that were read. */
  readonly #known = new Map<string, CheckpointManifest>()
  /** The last checkpoint that was archived or loaded. */
  #last: { key: string; archived: ArchivedCheckpoint } | undefined
  #nextMs = 0
  #bytes = 0

  constructor(bucket: Bucket, options: CheckpointOptions) {
    this.#bucket = bucket
    this.#root = archiveRoot(bucket.prefix, options.uuid)
    this.#options = options
  }

  get isDue(): boolean {
    return clock.now() >= this.#nextMs || this.#bytes >= INTERVAL_BYTES
  }

  /** Counts bytes of the main log that were archived. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /**
   * Returns the end that the archived main log must have before the archive can be restored. If the archive lacks the
   * first records of the main log and a checkpoint in their place, archives one.
   */
  async begin(position: ArchivePosition): Promise<number> {
    if (position.first === 0) return 0
    const newest = (await this.#list(position)).usable.findLast(({ manifest }) => manifest.from >= position.first)
    return newest?.manifest.head.position ?? this.#archive(position, async () => {})
  }

  /**
   * Archives the last checkpoint of the folder, and removes what is not needed any more. `archiveTo` archives the main
   * log up to a seq. Throws ConditionFailed or ShipConflict if the archive has changed.
   */
  async run(position: ArchivePosition, archiveTo: (end: number) => Promise<void>): Promise<void> {
    this.#bytes = 0
    await this.#archive(position, archiveTo)
    await this.#sweep(position)
    this.#nextMs = clock.now() + INTERVAL_MS
  }

  async #list({ histories, history }: ArchivePosition) {
    const listed = await listCheckpoints(this.#bucket, this.#root, this.#known)
    return { ...listed, usable: checkpointsOf(listed.whole, histories, history) }
  }

  /** Returns the position of the checkpoint. */
  async #archive(position: ArchivePosition, archiveTo: (end: number) => Promise<void>): Promise<number> {
    const { dir, historyMs, onStored } = this.#options
    const { usable, next } = await this.#list(position)
    const base = await this.#load(usable.at(-1))
    const archived = await uploadCheckpoint(this.#bucket, this.#root, base, {
      dir,
      generation: position.generation,
      historyMs,
      onStored,
    })
    const { head, packs } = archived.manifest
    const isSame =
      base?.manifest.head.position === head.position && [...packs.keys()].every((one) => base.manifest.packs.has(one))
    if (isSame && packs.size === base.manifest.packs.size) return head.position
    await archiveTo(head.position)
    const key = `${checkpointFolder(this.#root)}${digitsOf(next)}`
    const body = Buffer.from(manifestText(archived.manifest))
    const sha256 = await sha256Of(body)
    await this.#bucket.put(key, body, { sha256, metadata: { sha256 }, condition: { ifAbsent: true } })
    onStored()
    this.#last = { key, archived }
    return head.position
  }

  /** Loads the streams of a checkpoint, which the next one continues. */
  async #load(stored: StoredCheckpoint | undefined): Promise<ArchivedCheckpoint | undefined> {
    if (stored === undefined) return undefined
    const { key, manifest } = stored
    if (this.#last?.key === key) return this.#last.archived
    const archived: ArchivedCheckpoint = { manifest, streams: new Map() }
    for await (const some of streamsOf(this.#bucket, this.#root, manifest))
      for (const one of some) archived.streams.set(one.stream.name, one)
    this.#last = { key, archived }
    return archived
  }

  /**
   * Removes checkpoints that are not kept, then the packs and the pieces of the main log that only they need. If it is
   * killed, the next call continues.
   */
  async #sweep(position: ArchivePosition): Promise<void> {
    const { whole, usable, broken, packs } = await this.#list(position)
    // After the list: a checkpoint of a copy that has taken over is stored after the history of that copy.
    const histories = await listHistories(this.#bucket, this.#root, position.histories)
    if (histories.at(-1)?.generation !== position.history.generation)
      throw new ShipConflict('the archive has a newer history')
    const now = Date.now()
    const keptMs = Math.max(this.#options.historyMs, SHORTEST_HISTORY_MS)
    const isRecent = (one: StoredCheckpoint | undefined): boolean =>
      one !== undefined && now - one.manifest.archivedMs < keptMs
    const kept = usable.filter((_, at) => at === usable.length - 1 || isRecent(usable[at + 1]))
    const [oldest] = kept
    if (oldest === undefined) return
    const others = whole.filter((one) => !usable.includes(one) && isRecent(one))
    const removed = whole.filter((one) => !kept.includes(one) && !others.includes(one))
    const old = broken.filter(({ number }) => number < oldest.number)
    await this.#delete([...old, ...removed].map(({ key }) => key))
    // A checkpoint that could not be read may be whole.
    if (broken.some((one) => !one.isRead && !old.includes(one))) return
    const packsOf = (some: readonly StoredCheckpoint[]): Set<string> =>
      new Set(some.flatMap(({ manifest }) => [...manifest.packs.keys()]))
    const needed = packsOf([...kept, ...others])
    const freed = packsOf(removed)
    const unneeded = [...packs.keys()].filter((pack) => !needed.has(pack))
    const keys = await inParallel(unneeded, async (pack) => {
      const key = `${packFolder(this.#root)}${pack}`
      if (freed.has(pack)) return key
      const made = Number((await this.#bucket.head(key))?.['made'])
      return now - made >= ORPHAN_MS ? key : undefined
    })
    await this.#delete(keys.filter((key) => key !== undefined))
    // The archive restores each state of the last `historyMs`: with the first checkpoint, from record 0 on.
    if (position.first > 0 || !isRecent(oldest)) await this.#removePieces(histories, position, oldest.manifest.from)
  }

  /** Removes the pieces of the main log whose records are all before seq `from`, and those of ended histories. */
  async #removePieces(histories: readonly History[], position: ArchivePosition, from: number): Promise<void> {
    const { history } = position
    const manifest = await listPieces(this.#bucket, histories, history)
    const { entries } = manifest
    const unneeded = new Set(
      entries.filter((_, at) => (entries[at + 1]?.firstSeq ?? Number.POSITIVE_INFINITY) <= from).map(({ key }) => key),
    )
    for (const { generation, names } of histories) {
      const isEnded = generation !== history.generation && manifest.isBegun && history.from <= from
      const isRemoved = ({ key }: { key: string }): boolean => isEnded || unneeded.has(key)
      const parts = await listParts(this.#bucket, names, Number.POSITIVE_INFINITY)
      await deleteParts(this.#bucket, names.boundary, parts.filter(isRemoved))
      const segments = await listFolder(this.#bucket, names.log, Number.POSITIVE_INFINITY)
      await this.#delete(segments.filter(isRemoved).map(({ key }) => key))
    }
    position.first = entries.find(({ key }) => !unneeded.has(key))?.firstSeq ?? position.first
  }

  async #delete(keys: readonly string[]): Promise<void> {
    await inParallel(keys, (key) => this.#bucket.delete(key))
  }
}
