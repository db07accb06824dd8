/** What this disk is good enough for, from the rows of strategy "auto". */
import { formatNumber } from '../report/format.js'
import type { Row, TableResult } from '../report/report.js'

interface Use {
  name: string
  level: 'sync' | 'memory'
  figure: (row: Row) => number
  /** The largest figure with which the answer is yes; for `isRate`, the smallest. */
  limit: number
  isRate?: boolean
  told: (figure: number) => string
  limitTold: string
}

const ms = (us: number): string => `${formatNumber(us / 1000)} ms`
const LINES_PER_SECOND = 1000

function byTail(name: string, limitMs: number, why: string): Use {
  return {
    name,
    level: 'sync',
    figure: ({ summary }) => summary?.p99 ?? Number.NaN,
    limit: limitMs * 1000,
    told: (us) => `p99 of a sync is ${ms(us)}`,
    limitTold: `limit ${limitMs} ms, ${why}`,
  }
}

const USES: readonly Use[] = [
  byTail("a database's write-ahead log", 10, 'as etcd asks'),
  byTail('a request that a person waits for', 100, 'which people notice'),
  {
    name: 'an ingest buffer for 10,000 events a second',
    level: 'sync',
    figure: ({ extras }) => Number(extras?.[0] ?? Number.NaN),
    limit: 10_000,
    isRate: true,
    told: (rate) => `${formatNumber(rate)} durable appends a second with 1,024 in flight`,
    limitTold: 'limit 10,000',
  },
  {
    name: 'the log lines of a service, 1,000 a second',
    level: 'memory',
    figure: ({ summary }) => LINES_PER_SECOND / (summary?.opsPerSecond ?? Number.NaN),
    limit: 0.05,
    told: (share) => `their writes take ${formatNumber(share * 100)} % of the JavaScript thread`,
    limitTold: 'limit 5 %',
  },
]

/** Returns a sentence for each use. A busy machine can only be the reason of a "no". */
export function judgeUses(tables: readonly TableResult[], isBusy: boolean): string[] {
  return USES.flatMap(({ name, level, figure, limit, isRate, told, limitTold }) => {
    const row = tables
      .find(({ title }) => title.startsWith(`${level},`))
      ?.rows.find(({ labels }) => labels[0] === 'auto')
    const value = row === undefined ? Number.NaN : figure(row)
    if (!Number.isFinite(value)) return []
    const isEnough = isRate === true ? value >= limit : value <= limit
    const answer = isEnough ? 'yes' : isBusy ? 'no, while other programs use the machine' : 'no'
    return [`${name[0]?.toUpperCase()}${name.slice(1)}: ${answer}, ${told(value)}, ${limitTold}.`]
  })
}
