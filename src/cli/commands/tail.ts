import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { printRecords } from '../print.js'

interface Flags {
  lines: number
  follow?: boolean
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('tail')
    .summary('print the last records, and new ones as they come')
    .description('Print the last records as they are, a newline behind each. Takes no lock.')
    .argument('<dir>', "the log's folder")
    .option('-n, --lines <count>', 'how many', parseWhole, 10)
    .option('-f, --follow', 'wait for new ones')
  addJson(command).action(run)
}

async function run(dir: string, { lines, follow, json }: Flags): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  const from = Math.max(log.firstSeq, log.nextSeq - lines)
  process.exitCode = await printRecords(log, { from, follow }, { json: json === true, lengthPrefixed: false })
}
