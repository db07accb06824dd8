import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { writeJson, writeOut } from '../../terminal/output.js'

interface Flags {
  before: number
  waitLock: number
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('trim')
    .summary('remove old segments')
    .description('Remove whole segments whose records all stand before SEQ. Needs the log for itself.')
    .argument('<dir>', "the log's folder")
    .requiredOption('--before <seq>', 'the oldest record to keep', parseWhole)
    .option('--wait-lock <ms>', 'how long to wait for another writer', parseWhole, 0)
  addJson(command).action(run)
}

async function run(dir: string, { before, waitLock, json }: Flags): Promise<void> {
  await using log = await open(dir, { create: false, lock: { waitMs: waitLock } })
  const was = log.firstSeq
  const firstSeq = await log.trimBefore(before)
  if (json) return writeJson({ firstSeq, nextSeq: log.nextSeq, removedRecords: firstSeq - was })
  await writeOut(
    firstSeq === was
      ? `nothing to remove: no segment is as a whole before ${before}; the oldest record is ${firstSeq}\n`
      : `removed ${firstSeq - was} records; the oldest is now ${firstSeq}\n`,
  )
}
