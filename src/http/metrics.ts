/** Metrics in the text format of Prometheus. */
import type { LeaseView } from '../index.js'
import type { ServedPort, StreamsStats } from '../streams/port/port.js'
import type { Buffered } from './buffered.js'
import type { Live } from './live.js'
import type { DropReason } from './types.js'

/** The upper bounds of the histogram of durations, in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']

interface Durations {
  /** The number of requests up to each bound, and of longer ones. */
  counts: number[]
  seconds: number
}

export class MetricsText {
  readonly #lines: string[] = []

  /** Each value has the text between the name of the metric and the value: a suffix, labels, both or nothing. */
  add(name: string, type: string, help: string, values: Iterable<[text: string, value: number]>): void {
    this.#lines.push(`# HELP durlog_${name} ${help}`, `# TYPE durlog_${name} ${type}`)
    for (const [text, value] of values) this.#lines.push(`durlog_${name}${text} ${value}`)
  }

  gauge(name: string, help: string, value: number): void {
    this.add(name, 'gauge', help, [['', value]])
  }

  lease({ isHeld, ageMs }: Pick<LeaseView, 'isHeld' | 'ageMs'>): void {
    this.gauge('replication_lease_held', '1 while this server holds the lease.', Number(isHeld))
    this.gauge('replication_lease_age_seconds', 'Time since the lease was renewed.', ageMs / 1000)
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`
  }
}

/** The metrics of a handler. */
export class Metrics {
  readonly #access: ServedPort
  readonly #live: Live
  readonly #buffered: Buffered
  /** The number of requests by method and status. */
  readonly #requests = new Map<string, Map<number, number>>()
  readonly #durations = new Map<string, Durations>()
  readonly #drops = new Map<DropReason, number>()

  constructor(access: ServedPort, live: Live, buffered: Buffered) {
    this.#buffered = buffered
    this.#access = access
    this.#live = live
  }

  /** `isLive`: a long-poll or an event stream, which lasts until there is data. The histogram of durations omits it. */
  count(sent: string, status: number, durationMs: number, dropped: DropReason | undefined, isLive: boolean): void {
    // A client can send any text as its method, so unknown methods share a label.
    const method = METHODS.includes(sent) ? sent : 'other'
    let statuses = this.#requests.get(method)
    if (statuses === undefined) {
      statuses = new Map()
      this.#requests.set(method, statuses)
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (dropped !== undefined) this.#drops.set(dropped, (this.#drops.get(dropped) ?? 0) + 1)
    if (isLive) return
    let durations = this.#durations.get(method)
    if (durations === undefined) {
      durations = { counts: new Array<number>(BOUNDS.length + 1).fill(0), seconds: 0 }
      this.#durations.set(method, durations)
    }
    const seconds = durationMs / 1000
    durations.seconds += seconds
    let at = 0
    while (at < BOUNDS.length && seconds > (BOUNDS[at] as number)) at++
    durations.counts[at] = (durations.counts[at] as number) + 1
  }

  async #stats(): Promise<StreamsStats | undefined> {
    try {
      return await this.#access.stats()
    } catch {
      return undefined
    }
  }

  /** Returns the metrics, without those of the folder if the streams are closed or their owner does not answer. */
  async text(): Promise<string> {
    const stats = await this.#stats()
    const text = new MetricsText()
    const requests = [...this.#requests].flatMap(([method, statuses]) =>
      [...statuses].map(([status, count]): [string, number] => [`{method="${method}",status="${status}"}`, count]),
    )
    text.add('http_requests_total', 'counter', 'Finished requests.', requests)
    const drops: [string, number][] = [...this.#drops].map(([reason, count]) => [`{reason="${reason}"}`, count])
    text.add('http_dropped_total', 'counter', 'Slow clients that the server has dropped.', drops)
    text.gauge('http_live_requests', 'Open long-polls and event streams.', this.#live.open)
    const held = 'Bytes of request bodies and answers that wait in memory for clients.'
    text.gauge('http_buffered_bytes', held, this.#buffered.bytes)
    const isFailing = this.#access.checkpointFailure !== undefined
    text.gauge('streams_checkpoint_failing', '1 if the last checkpoint has not stored all streams.', Number(isFailing))
    if (stats !== undefined) {
      text.gauge('streams', 'Streams in the folder.', stats.streams)
      const waiting = 'Bytes of memory of the records that wait for a checkpoint.'
      text.gauge('streams_memory_bytes', waiting, stats.memTableBytes)
    }
    if (stats?.replication !== undefined) {
      const { replicatedSeq, lag, waitingAppends, stalled, fenced, failure, lease } = stats.replication
      const acknowledged = 'The last entry of the main log that the destination has acknowledged.'
      text.gauge('replication_seq', acknowledged, replicatedSeq)
      text.gauge(
        'replication_lag_records',
        'Entries of the main log that are synced here and not replicated.',
        lag.records,
      )
      text.gauge('replication_lag_bytes', 'Bytes of these entries.', lag.bytes)
      text.gauge('replication_lag_seconds', 'Age of the oldest of these entries.', lag.ms / 1000)
      text.gauge('replication_waiting_appends', 'Appends that wait for the destination.', waitingAppends)
      text.gauge('replication_stalled', '1 if appends have waited for ten seconds.', Number(stalled))
      text.gauge('replication_fenced', '1 if another server has taken over.', Number(fenced))
      text.gauge('replication_failed', '1 if replication has stopped for good.', Number(failure !== undefined))
      if (lease !== undefined) text.lease(lease)
    }
    this.#addDurations(text)
    return text.toString()
  }

  #addDurations(text: MetricsText): void {
    const values: [string, number][] = []
    for (const [method, { counts, seconds }] of this.#durations) {
      let sum = 0
      for (const [at, count] of counts.entries()) {
        sum += count
        values.push([`_bucket{method="${method}",le="${BOUNDS[at] ?? '+Inf'}"}`, sum])
      }
      values.push([`_sum{method="${method}"}`, seconds], [`_count{method="${method}"}`, sum])
    }
    const help = 'Durations of requests, without long-polls and event streams.'
    text.add('http_request_seconds', 'histogram', help, values)
  }
}
