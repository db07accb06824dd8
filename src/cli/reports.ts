/** Reports and warnings of commands that append. */
import { formatBytes, formatCounted, formatSeqs, warn, writeSummary } from '../terminal/output.js'
import type { Durability, Log } from '../types.js'

/** The result of appending an input. */
export interface AppendSummary {
  /** The seqs of the first and the last stored record; -1 if none was stored. */
  first: number
  last: number
  /** The number of stored records, and their bytes. */
  records: number
  bytes: number
  /**
   * The number of further records that may or may not be stored, because their append failed with an unknown outcome.
   */
  uncertain: number
  blankLines: number
  /** The number of records at the beginning of the input that were not appended. */
  skipped: number
}

/** Reports the stored records, even if the command fails: the caller can resume after the first `records` records. */
export async function reportAppended(
  verb: string,
  { first, last, records, bytes, uncertain, blankLines, skipped: stored }: AppendSummary,
  durability: Durability,
  json: boolean,
  elapsedMs: number,
): Promise<void> {
  if (json) {
    const range = records > 0 ? { first, last } : {}
    const counts = {
      records,
      bytes,
      ...range,
      durability,
      blankLines,
      skipped: stored,
      uncertain,
      elapsedMs: Math.round(elapsedMs),
    }
    return writeSummary(`${JSON.stringify(counts)}\n`)
  }
  const blank = blankLines === 0 ? '' : `; skipped ${formatCounted(blankLines, 'blank line')}`
  const skipped = `${blank}${stored === 0 ? '' : `; ${formatCounted(stored, 'record')} of the input had been stored before`}`
  const unknown = uncertain === 0 ? '' : `; up to ${formatCounted(uncertain, 'more record')} may be stored`
  if (records === 0) return writeSummary(`${verb} nothing${unknown}${skipped}\n`)
  const seconds = (elapsedMs / 1000).toFixed(2)
  await writeSummary(
    `${verb} ${formatCounted(records, 'record')}, ${formatSeqs(first, last + 1)}, at ${durability} in ${seconds} s${unknown}${skipped}\n`,
  )
}

/** Reports on stderr the records that opening the log has removed or found damaged. */
export function reportRecovery({ recovery }: Log, json: boolean): void {
  const { state, discardedBytes, discardedRecords, lost } = recovery
  if (state === 'clean') return
  const removed = `${formatBytes(discardedBytes)} with ${formatCounted(discardedRecords, 'record')}`
  const found: Record<Exclude<typeof state, 'clean'>, string> = {
    'torn-tail': `a crash left an incomplete end, which was never acknowledged at sync: removed ${removed}`,
    hole: `a crash left a gap among records that were never acknowledged at sync: removed ${removed}`,
    corrupt: `synced records are damaged${lost === undefined ? '' : `; lost: ${formatSeqs(lost.first, lost.last + 1)}`}`,
  }
  warn('RECOVERED', found[state], json, { recovery })
}
