import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson, addTimes, parseWhole, type TimeFlags } from '../../terminal/arguments.js'
import { printRecords } from '../print.js'

interface Flags extends TimeFlags {
  from?: number
  to?: number
  follow?: boolean
  durableOnly?: boolean
  salvage?: boolean
  lengthPrefixed?: boolean
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('cat')
    .summary('print records')
    .description('Print records as they are, a newline behind each. Takes no lock.')
    .argument('<dir>', "the log's folder")
    .option('--from <seq>', 'the first one (default: the oldest)', parseWhole)
    .option('--to <seq>', 'the last one (default: the newest)', parseWhole)
  addTimes(command)
    .option('-f, --follow', 'wait for new ones')
    .option('--durable-only', 'only what is known to be synced')
    .option('--length-prefixed', 'write each behind its length (u32, little-endian) instead')
    .option('--salvage', 'skip what is damaged, tell about it on stderr and end with 2')
  addJson(command).action(run)
}

async function run(dir: string, flags: Flags): Promise<void> {
  const { from, to, since, until, follow, durableOnly, salvage } = flags
  await using log = await open(dir, { readOnly: true })
  const format = { json: flags.json === true, lengthPrefixed: flags.lengthPrefixed === true }
  await printRecords(log, { from, to, since, until, follow, durableOnly, salvage }, format)
}
