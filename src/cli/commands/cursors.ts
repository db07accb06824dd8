import { type Command, InvalidArgumentError } from 'commander'
import { open, type ReadOnlyLog } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatTable, writeJson, writeOut } from '../../terminal/output.js'

type Position = 'first' | 'next' | number

interface Flags {
  create?: string
  seek?: string
  remove?: string
  from?: Position
  json?: boolean
}

function parsePosition(text: string): Position {
  if (text === 'first' || text === 'next') return text
  if (/^\d+$/.test(text)) return parseWhole(text)
  throw new InvalidArgumentError('It must be a seq, first or next.')
}

export function register(command: Command): void {
  command
    .description(
      'List the named cursors of a log: the seq that each reads next, the number of records that it has not read yet, its state, and the process that has it open. Takes no lock on the log.',
    )
    .argument('<dir>', 'the folder of the log')
    .option('--create <name>', 'create a cursor')
    .option('--seek <name>', 'set the position of a cursor that no process has open; needs --from')
    .option('--remove <name>', 'remove a cursor that no process has open')
    .option('--from <position>', 'the position: a seq, first or next (default for --create: first)', parsePosition)
  addJson(command).action(run)
}

function checkFlags({ create, seek, remove, from }: Flags): void {
  const actions = [create, seek, remove].filter((name) => name !== undefined).length
  const problem =
    actions > 1
      ? 'only one of --create, --seek and --remove can be used'
      : seek !== undefined && from === undefined
        ? '--seek needs --from'
        : from !== undefined && create === undefined && seek === undefined
          ? '--from needs --create or --seek'
          : ''
  if (problem !== '') throw new InputError(problem, ExitCode.usage)
}

async function run(dir: string, flags: Flags): Promise<void> {
  checkFlags(flags)
  await using log = await open(dir, { readOnly: true })
  const { create, seek, remove, from, json } = flags
  if (create !== undefined) await createCursor(log, create, from ?? 'first')
  else if (seek !== undefined) await seekCursor(log, seek, from as Position)
  else if (remove !== undefined) await removeCursor(log, remove)
  await list(log, json === true)
}

async function createCursor(log: ReadOnlyLog, name: string, from: Position): Promise<void> {
  const existing = (await log.cursors()).find((cursor) => cursor.name === name)
  if (existing !== undefined)
    throw new InputError(
      `the cursor ${name} already exists, at seq ${existing.position}; use --seek to set its position`,
    )
  await log.ensureCursor(name, { from })
}

async function seekCursor(log: ReadOnlyLog, name: string, from: Position): Promise<void> {
  await checkExists(log, name)
  await using cursor = await log.cursor(name)
  await cursor.seek(typeof from === 'number' ? from : from === 'first' ? log.firstSeq : log.nextSeq)
}

async function removeCursor(log: ReadOnlyLog, name: string): Promise<void> {
  await checkExists(log, name)
  await log.removeCursor(name)
}

async function checkExists(log: ReadOnlyLog, name: string): Promise<void> {
  const names = (await log.cursors()).map((cursor) => cursor.name)
  if (names.includes(name)) return
  throw new InputError(`there is no cursor ${name}; the log has ${names.length === 0 ? 'none' : names.join(', ')}`)
}

async function list(log: ReadOnlyLog, json: boolean): Promise<void> {
  const cursors = await log.cursors()
  if (json) return writeJson(cursors)
  if (cursors.length === 0) return writeOut('no cursors\n')
  const rows = cursors.map(({ name, position, lagRecords, state, owned, ownerPid }) => [
    name,
    position === -1 ? 'unknown' : String(position),
    String(lagRecords),
    state,
    owned ? `process ${ownerPid ?? 'unknown'}` : 'none',
  ])
  await writeOut(formatTable(['cursor', 'position', 'behind', 'state', 'owner'], rows))
}
