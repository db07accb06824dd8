import { statfs } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { inspect, open, type ReadOnlyLog } from '../../index.js'
import { lastFailure } from '../../ship/failure-file.js'
import { decodeEntry, EntryKind } from '../../streams/state/entry.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import {
  formatBytes,
  formatCount,
  formatCounted,
  formatDuration,
  formatFields,
  formatSeqs,
  formatTable,
  formatWrapped,
  paint,
  writeJson,
  writeOut,
} from '../../terminal/output.js'
import { toWaitMs } from '../arguments.js'
import { ageFrom } from '../record-age.js'
import { logFolder } from '../streams/folder.js'
import { type Warning, type WatchedCursor, warningsOf } from '../top-warnings.js'

interface Flags {
  interval: number
  count?: number
  json?: boolean
}

/** The state of a log, and its rates since the previous sample. */
interface Sample {
  dir: string
  firstSeq: number
  nextSeq: number
  syncedSeq: number
  /** Records per second, from the movement of the log's ends; 0 in the first sample. */
  appendedPerSecond: number
  syncedPerSecond: number
  trimmedPerSecond: number
  /** Undefined for a shared log, which does not count its commits. */
  commitsPerSecond: number | undefined
  /** The mean duration of the commits since the previous sample, in microseconds; 0 if there were none. */
  commitMicros: number
  segments: number
  bytes: number
  allocatedBytes: number
  /** The free space of the file system. */
  freeBytes: number
  cursors: WatchedCursor[]
  /** The conditions that an operator should look at. */
  warnings: Warning[]
  /** For a folder of streams: the streams that have grown most since the previous sample. */
  streams?: StreamRate[]
}

const MIN_INTERVAL_MS = 100
/** Moves to the top left corner and clears the screen. */
const CLEAR = '\u001b[H\u001b[2J'

function parseInterval(text: string): number {
  const ms = toWaitMs(text)
  if (ms < MIN_INTERVAL_MS) throw new InvalidArgumentError(`It must be at least ${MIN_INTERVAL_MS} ms.`)
  return ms
}

function parseCount(text: string): number {
  const count = parseWhole(text)
  if (count === 0) throw new InvalidArgumentError('It must be at least 1.')
  return count
}

export function register(command: Command): void {
  command
    .description(
      'Show once a second the rates at which logs grow and are trimmed, the duration of commits, the size of the logs, and for each cursor the number of records that it has not read yet and the age of the oldest; for a folder of streams, also the streams that grow most. Warns of a cursor that no process reads or that falls behind, and of a full disk. Takes no lock and does not slow down writers.',
    )
    .argument('<dirs...>', 'the folders of the logs, or of streams')
    .option('-i, --interval <duration>', 'time between two samples, at least 100', parseInterval, 1000)
    .option('-n, --count <times>', 'the number of samples (default: until interrupted)', parseCount)
  addJson(command).action(run)
}

async function run(dirs: string[], { interval, count = Number.POSITIVE_INFINITY, json }: Flags): Promise<void> {
  const views: LogView[] = []
  try {
    for (const dir of dirs) {
      const { dir: folder, hasStreams } = logFolder(dir)
      views.push(new LogView(await open(folder, { readOnly: true }), hasStreams))
    }
    for (let look = 1; ; look++) {
      const samples: Sample[] = []
      for (const view of views) samples.push(await view.look())
      if (json) for (const sample of samples) await writeJson(sample)
      else await writeOut((process.stdout.isTTY ? CLEAR : '') + samples.map(formatSample).join('\n'))
      if (look >= count) return
      await new Promise((resolve) => setTimeout(resolve, interval))
    }
  } finally {
    for (const { log } of views) await log.close()
  }
}

class LogView {
  readonly log: ReadOnlyLog
  readonly #rates: StreamRates | undefined
  #last: { sample: Sample; at: number; commits: number | undefined; commitTotalMicros: number } | undefined

  constructor(log: ReadOnlyLog, hasStreams: boolean) {
    this.log = log
    if (hasStreams) this.#rates = new StreamRates(log)
  }

  async look(): Promise<Sample> {
    const { dir, firstSeq, nextSeq, syncedSeq, segments } = await inspect(this.log.dir)
    const { commits, commitTotalMicros } = this.log.stats()
    const at = performance.now()
    const last = this.#last
    const rate = (now: number, before: number | undefined): number =>
      last === undefined || before === undefined ? 0 : Math.max(0, Math.round(((now - before) / (at - last.at)) * 1000))
    const cursors: WatchedCursor[] = []
    await this.log.refresh()
    for (const cursor of await this.log.cursors()) {
      const before = last?.sample.cursors.find(({ name }) => name === cursor.name)
      const failure = await lastFailure(dir, cursor.name)
      const isGrowing = before !== undefined && cursor.lagRecords > before.lagRecords
      cursors.push({
        ...cursor,
        passedPerSecond: rate(cursor.position, before?.position),
        lagMs: cursor.lagRecords === 0 ? 0 : ageFrom(this.log, Math.max(cursor.position, firstSeq)),
        growingSamples: isGrowing ? before.growingSamples + 1 : 0,
        ...(failure !== undefined && failure.endedMs === undefined && { failure }),
      })
    }
    const space = await statfs(dir)
    const streams = await this.#rates?.look()
    const sample = {
      dir,
      firstSeq,
      nextSeq,
      syncedSeq,
      appendedPerSecond: rate(nextSeq, last?.sample.nextSeq),
      syncedPerSecond: rate(syncedSeq, last?.sample.syncedSeq),
      trimmedPerSecond: rate(firstSeq, last?.sample.firstSeq),
      commitsPerSecond: commits === undefined ? undefined : rate(commits, last?.commits ?? 0),
      commitMicros:
        last === undefined
          ? 0
          : meanMicros((commits ?? 0) - (last.commits ?? 0), commitTotalMicros - last.commitTotalMicros),
      segments: segments.length,
      bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
      allocatedBytes: segments.reduce((sum, { allocatedBytes }) => sum + allocatedBytes, 0),
      freeBytes: space.bavail * space.bsize,
      cursors,
      warnings: warningsOf(
        cursors,
        space,
        segments.reduce((most, { bytes }) => Math.max(most, bytes), 0),
      ),
      ...(streams !== undefined && { streams }),
    }
    this.#last = { sample, at, commits, commitTotalMicros }
    return sample
  }
}

/** Returns 0 if there was no commit, or if another writer has created a new page, which resets the counts. */
function meanMicros(commits: number, micros: number): number {
  return commits > 0 && micros > 0 ? Math.round(micros / commits) : 0
}

function formatSample(sample: Sample): string {
  const { dir, firstSeq, nextSeq, syncedSeq, segments, bytes, allocatedBytes, freeBytes, cursors } = sample
  const fields = formatFields([
    ['log', dir],
    [
      'records',
      nextSeq === firstSeq
        ? 'none'
        : `${formatCount(nextSeq - firstSeq)}, ${formatSeqs(firstSeq, nextSeq)}, ${formatCount(nextSeq - 1 - syncedSeq)} not synced`,
    ],
    [
      'a second',
      `${sample.appendedPerSecond} appended, ${sample.syncedPerSecond} synced, ${sample.trimmedPerSecond} trimmed`,
    ],
    [
      'commits',
      sample.commitsPerSecond === undefined
        ? 'not counted'
        : `${sample.commitsPerSecond} a second${sample.commitMicros > 0 ? `, ${(sample.commitMicros / 1000).toFixed(2)} ms each` : ''}`,
    ],
    [
      'size',
      `${formatBytes(bytes)} in ${formatCounted(segments, 'segment')}, ${formatBytes(allocatedBytes)} on the device, ${formatBytes(freeBytes)} free`,
    ],
  ])
  const warnings = sample.warnings.map(formatWarning).join('')
  if (cursors.length === 0) return fields + formatStreams(sample.streams) + warnings
  const rows = cursors.map(({ name, position, lagRecords, lagMs, passedPerSecond, state, owned, ownerPid }) => [
    name,
    position === -1 ? 'unknown' : String(position),
    String(lagRecords),
    lagMs === undefined ? 'unknown' : lagRecords === 0 ? '-' : formatDuration(lagMs),
    String(passedPerSecond),
    state,
    owned ? `process ${ownerPid ?? 'unknown'}` : 'none',
  ])
  const table = formatTable(['cursor', 'position', 'behind', 'oldest', 'a second', 'state', 'owner'], rows)
  return fields + table + formatStreams(sample.streams) + warnings
}

function formatWarning({ severity, text }: Warning): string {
  const head = severity === 'failure' ? paint('FAIL', 'red') : paint('WARN', 'yellow')
  return formatWrapped(`${head}  `, text)
}

function formatStreams(streams: readonly StreamRate[] = []): string {
  if (streams.length === 0) return ''
  const rows = streams.map(({ name, appendedPerSecond }) => [name, String(appendedPerSecond)])
  return formatTable(['stream', 'records a second'], rows)
}

/** The largest number of streams that are listed. */
const LISTED = 10

interface StreamRate {
  name: string
  appendedPerSecond: number
}

class StreamRates {
  readonly #log: ReadOnlyLog
  #next: number
  #atMs: number = performance.now()

  constructor(log: ReadOnlyLog) {
    this.#log = log
    this.#next = log.nextSeq
  }

  /** Returns the streams that have grown most since the last call. */
  async look(): Promise<StreamRate[]> {
    const counts = new Map<string, number>()
    const end = this.#log.nextSeq
    const from = Math.max(this.#next, this.#log.firstSeq)
    if (end > from) {
      for await (const { seq, data } of this.#log.read({ from, to: end })) {
        const { kind, stream } = decodeEntry(data, seq)
        if (kind === EntryKind.append) counts.set(stream, (counts.get(stream) ?? 0) + 1)
      }
    }
    const nowMs = performance.now()
    const seconds = (nowMs - this.#atMs) / 1000
    this.#next = end
    this.#atMs = nowMs
    return [...counts]
      .sort(([, a], [, b]) => b - a)
      .slice(0, LISTED)
      .map(([name, count]) => ({ name, appendedPerSecond: Math.round(count / seconds) }))
  }
}
