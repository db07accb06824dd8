import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson, addTimes, parseWhole, type TimeFlags } from '../../terminal/arguments.js'
import { printRecords } from '../print.js'

const DEFAULT_LINES = 10

interface Flags extends TimeFlags {
  lines?: number
  follow?: boolean
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('tail')
    .summary('print the last records, and new ones as they come')
    .description('Print the last records as they are, a newline behind each. Takes no lock.')
    .argument('<dir>', "the log's folder")
    .option('-n, --lines <count>', 'how many (default: 10, all with --since)', parseWhole)
    .option('-f, --follow', 'wait for new ones')
  addTimes(command)
  addJson(command).action(run)
}

async function run(dir: string, { lines, since, until, follow, json }: Flags): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  const end = until === undefined ? log.nextSeq : await log.seqAt(until)
  const count = lines ?? (since === undefined ? DEFAULT_LINES : end)
  const from = Math.max(log.firstSeq, end - count)
  await printRecords(log, { from, since, until, follow }, { json: json === true, lengthPrefixed: false })
}
