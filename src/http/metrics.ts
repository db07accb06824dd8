/** The metrics of a handler, in the text format of Prometheus. */
import type { ServedPort } from '../streams/port/port.js'
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

  /** Returns the metrics. If the owner of the folder does not answer, those that only it knows are missing. */
  async text(): Promise<string> {
    const stats = await Promise.resolve(this.#access.stats()).catch(() => undefined)
    const lines: string[] = []
    const add = (name: string, type: string, help: string, values: Iterable<[string, number]>): void => {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
      for (const [labels, value] of values) lines.push(`${name}${labels === '' ? '' : `{${labels}}`} ${value}`)
    }
    const requests = [...this.#requests].flatMap(([method, statuses]) =>
      [...statuses].map(([status, count]): [string, number] => [`method="${method}",status="${status}"`, count]),
    )
    add('durlog_http_requests_total', 'counter', 'Finished requests.', requests)
    const drops: [string, number][] = [...this.#drops].map(([reason, count]) => [`reason="${reason}"`, count])
    add('durlog_http_dropped_total', 'counter', 'Slow clients that the server has dropped.', drops)
    add('durlog_http_live_requests', 'gauge', 'Open long-polls and event streams.', [['', this.#live.open]])
    const held = 'Bytes of request bodies and answers that wait in memory for clients.'
    add('durlog_http_buffered_bytes', 'gauge', held, [['', this.#buffered.bytes]])
    const isFailing = this.#access.checkpointFailure === undefined ? 0 : 1
    add('durlog_streams_checkpoint_failing', 'gauge', '1 if the last checkpoint has not stored all streams.', [
      ['', isFailing],
    ])
    if (stats !== undefined) {
      add('durlog_streams', 'gauge', 'Streams in the folder.', [['', stats.streams]])
      add('durlog_streams_memory_bytes', 'gauge', 'Bytes of memory of the records that wait for a checkpoint.', [
        ['', stats.memTableBytes],
      ])
    }
    if (stats?.replication !== undefined) {
      const { replicatedSeq, lag, waitingAppends, stalled, fenced, failure, lease } = stats.replication
      const gauge = (name: string, help: string, value: number): void =>
        add(`durlog_replication_${name}`, 'gauge', help, [['', value]])
      gauge('seq', 'The last entry of the main log that the destination has acknowledged.', replicatedSeq)
      gauge('lag_records', 'Entries of the main log that are synced here and not replicated.', lag.records)
      gauge('lag_bytes', 'Bytes of these entries.', lag.bytes)
      gauge('lag_seconds', 'Age of the oldest of these entries.', lag.ms / 1000)
      gauge('waiting_appends', 'Appends that wait for the destination.', waitingAppends)
      gauge('stalled', '1 if appends have waited for ten seconds.', Number(stalled))
      gauge('fenced', '1 if another server has taken over.', Number(fenced))
      gauge('failed', '1 if replication has stopped for good.', Number(failure !== undefined))
      if (lease !== undefined) {
        gauge('lease_held', '1 while this server holds the lease.', Number(lease.isHeld))
        gauge('lease_age_seconds', 'Time since the lease was renewed.', lease.ageMs / 1000)
      }
    }
    lines.push(
      '# HELP durlog_http_request_seconds Durations of requests, without long-polls and event streams.',
      '# TYPE durlog_http_request_seconds histogram',
    )
    for (const [method, { counts, seconds }] of this.#durations) {
      let sum = 0
      for (const [at, count] of counts.entries()) {
        sum += count
        lines.push(`durlog_http_request_seconds_bucket{method="${method}",le="${BOUNDS[at] ?? '+Inf'}"} ${sum}`)
      }
      lines.push(`durlog_http_request_seconds_sum{method="${method}"} ${seconds}`)
      lines.push(`durlog_http_request_seconds_count{method="${method}"} ${sum}`)
    }
    return `${lines.join('\n')}\n`
  }
}
