import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { formatTable, writeJson, writeOut } from '../../terminal/output.js'

export function register(program: Command): void {
  const command = program
    .command('cursors')
    .summary('tell how far each cursor of a log is')
    .description(
      "Tell each named cursor's position, how many records it is behind, whether it can be read from, and which process has it open. Takes no lock.",
    )
    .argument('<dir>', "the log's folder")
  addJson(command).action(run)
}

async function run(dir: string, { json }: { json?: boolean }): Promise<void> {
  const log = await open(dir, { readOnly: true })
  try {
    const cursors = await log.cursors()
    if (json) return await writeJson(cursors)
    if (cursors.length === 0) return await writeOut('no cursors\n')
    const rows = cursors.map(({ name, position, lagRecords, state, owned, ownerPid }) => [
      name,
      position === -1 ? 'unknown' : String(position),
      String(lagRecords),
      state,
      owned ? `process ${ownerPid ?? 'unknown'}` : 'none',
    ])
    await writeOut(formatTable(['cursor', 'position', 'behind', 'state', 'owner'], rows))
  } finally {
    await log.close()
  }
}
