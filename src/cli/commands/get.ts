import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { printRecord } from '../print.js'

export function register(command: Command): void {
  command
    .description('Print the bytes of one record. Takes no lock.')
    .argument('<dir>', 'the folder of the log')
    .argument('<seq>', 'the seq of the record', parseWhole)
  addJson(command).action(run)
}

async function run(dir: string, seq: number, { json }: { json?: boolean }): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  await printRecord(await log.get(seq), json === true)
}
