// The folder of streams under trial, its values, and the writers that are broken on purpose.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { native } from '../../../../dist/native/native.js'
import { openExclusive } from '../../../../dist/streams/api/open-streams.js'
import { Catalog } from '../../../../dist/streams/state/catalog.js'
import { between, seededRandom } from '../random.mjs'

const KIB = 1024
/** A stream with retention, which is never deleted. */
export const KEPT = 'kept'
export const KEPT_RECORDS = 20
/** A stream of bytes: its file has another format. */
export const BYTES = 'bytes'
/** A stream to which a producer appends, with another epoch in each life. */
export const LEDGER = 'ledger'

export function openFolder(directory, { seed, life }) {
  const random = seededRandom(seed, life, 7)
  const options = { durability: random() < 0.2 ? 'full' : 'sync', checkpointBytes: 64 * KIB, checkpointMs: 3_600_000 }
  // Whole segments are trimmed: short ones are trimmed by most checkpoints.
  const logSegmentBytes = 64 * KIB * between(random, 1, 3)
  return openExclusive(join(directory, 'streams'), options, { logSegmentBytes })
}

/** The reported changes, with the files that were kept; long runs of a character are shortened. */
export function describe(changes) {
  const contentOf = ({ original }) =>
    original === ''
      ? 'no file'
      : readFileSync(original, 'latin1').replace(/(.)\1{7,}/gs, (run, one) => `<${run.length} ${JSON.stringify(one)}>`)
  return changes.map((change) => `${JSON.stringify(change)}: ${contentOf(change)}`).join('\n')
}

/** Most values are short, some about as long as a page or several. */
export function appendedValue(seed, n) {
  const random = seededRandom(seed, n)
  const kind = random()
  const length =
    kind < 0.8 ? between(random, 0, 300) : kind < 0.95 ? between(random, 3500, 4200) : between(random, 5000, 20_000)
  return { n, filler: String.fromCharCode(97 + (n % 26)).repeat(length) }
}

export function producerOf(epoch, seq) {
  return { id: 'p', epoch, seq }
}

/** The append number `n` to the stream `name`. */
export function append(streams, seed, n, name, options) {
  const value = appendedValue(seed, n)
  return streams.stream(name).append(name === BYTES ? Buffer.from(JSON.stringify(value)) : value, options)
}

/** Each breaks one step of a checkpoint. A power cut must reveal it. */
const BROKEN = {
  /** The files of streams are never synced. */
  'files-unsynced'() {
    breakFiles(async () => {})
  },
  /** They are synced by the next checkpoint: after the catalog names their records and the log is trimmed. */
  'catalog-first'() {
    let isDue = false
    breakFiles(async (syncAll) => {
      if (isDue) await syncAll()
      isDue = true
    })
  },
  /** The group of a checkpoint is stored by the next one: after the log is trimmed. */
  'trim-first'() {
    const { store } = Catalog.prototype
    let late = async () => {}
    Catalog.prototype.store = async function (changed, head, level) {
      // The group of a new folder: without it the folder is not open.
      if (head.position === 0) return store.call(this, changed, head, level)
      const due = late
      late = () => store.call(this, changed, head, level)
      await due()
    }
  },
}

function breakFiles(sync) {
  const { openStreamFiles } = native
  native.openStreamFiles = async (...folders) => {
    const files = await openStreamFiles.call(native, ...folders)
    return {
      store: async (job) => {
        const stored = await files.store({ ...job, sync: false })
        await sync(() => files.syncAll())
        return stored
      },
      syncAll: () => sync(() => files.syncAll()),
      close: () => files.close(),
    }
  }
}

BROKEN[process.env.POWERCUT_BREAK]?.()
