import type { Command } from 'commander'
import { rejoin } from '../../archive/index.js'
import { addJson } from '../../terminal/arguments.js'
import { formatCounted, writeSummary } from '../../terminal/output.js'
import { addBucket, type BucketFlags, toBucketAccess } from '../bucket-flags.js'
import { endingSignal } from '../replicate.js'

interface Flags extends BucketFlags {
  into: string
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Make DIR, the log of a writer that another copy has replaced ("durlog promote"), a replica. Its records that the bucket does not have are copied to another log first, with their seqs and times, and their seqs are printed. No other process may have DIR open. If it was interrupted, run it again. "durlog restore --follow" continues the replica.',
    )
    .argument('<dir>', 'the folder of the log')
    .argument('<bucket>', 's3://bucket/prefix, where the log is archived')
    .requiredOption('--into <folder>', 'a new folder for the records that were never replicated')
  addBucket(addJson(command)).action(run)
}

async function run(dir: string, url: string, { into, json, ...flags }: Flags): Promise<void> {
  const report = await rejoin(dir, { ...toBucketAccess(url, flags), into, signal: endingSignal() })
  if (json) return writeSummary(`${JSON.stringify(report)}\n`)
  const { nextSeq, first, last, records } = report
  const kept =
    records === 0
      ? 'no record had to be kept'
      : `${into} holds ${formatCounted(records, 'record')} of it, seqs ${first} to ${last}`
  await writeSummary(`${dir} is a replica up to seq ${nextSeq - 1}; ${kept}\n`)
}
