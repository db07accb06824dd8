import { resolve } from 'node:path'
import { Argument, type Command } from 'commander'
import type { Folder } from '../../streams/api/folder.js'
import { joinStreams, openStreams } from '../../streams/api/open-streams.js'
import { isBackup } from '../../support/folder-marks.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { addHelpSection } from '../../terminal/help.js'
import { InputError } from '../../terminal/input-error.js'
import { writeJson, writeOut } from '../../terminal/output.js'
import { visible } from '../../terminal/visible.js'
import { ACTIONS, type Action, type StreamsFlags } from '../streams/actions.js'
import { appendLines } from '../streams/append.js'
import { importAll } from '../streams/exchange.js'
import { importFiles } from '../streams/import.js'
import { LateFolder } from '../streams/late-folder.js'
import { verifyBackup } from '../streams/verify.js'

type Flag = Exclude<keyof StreamsFlags, 'json'>

interface Usage {
  /** The number of arguments after the action, and their names. */
  min: number
  max: number
  names: string
  /** The options that the action accepts. */
  flags: readonly Flag[]
  summary: string
}

const USAGES: Record<string, Usage> = {
  ls: {
    min: 0,
    max: 0,
    names: '',
    flags: ['prefix'],
    summary: 'list the streams, the one with the latest record first',
  },
  stat: { min: 0, max: 1, names: ' [NAME]', flags: [], summary: 'describe the stream NAME, or the folder' },
  cat: { min: 1, max: 1, names: ' NAME', flags: ['from', 'times'], summary: 'print the values, each on a line' },
  tail: {
    min: 1,
    max: 1,
    names: ' NAME',
    flags: ['lines', 'follow', 'times'],
    summary: 'print the last values, each on a line',
  },
  export: {
    min: 0,
    max: 1,
    names: ' [NAME]',
    flags: ['from', 'prefix'],
    summary:
      'print each record as JSON, with its seq and timestamp; without NAME, those of all streams, each after a line with its options',
  },
  append: {
    min: 1,
    max: 2,
    names: ' NAME [FILE]',
    flags: ['timeField'],
    summary: 'append each line of FILE (default: stdin) as a value',
  },
  rm: { min: 1, max: Number.POSITIVE_INFINITY, names: ' NAME...', flags: [], summary: 'delete the streams' },
  fork: {
    min: 2,
    max: 2,
    names: ' NAME NEW',
    flags: ['from'],
    summary: 'create the stream NEW from the records of NAME',
  },
  import: {
    min: 1,
    max: Number.POSITIVE_INFINITY,
    names: ' FILE...',
    flags: ['name', 'prefix', 'timeField', 'dryRun', 'watch', 'keep'],
    summary:
      'append each intact line of FILE, a .jsonl file or a folder of them, to the stream with the name of the file, only once even if it is repeated; list the other lines',
  },
  'accept-clock': {
    min: 0,
    max: 0,
    names: '',
    flags: [],
    summary: 'if a clock that was ahead has given records a later time, continue with the time of the present clock',
  },
  verify: {
    min: 0,
    max: 0,
    names: '',
    flags: ['prefix'],
    summary: 'read every record, also of a backup; exit with 2 if one is damaged',
  },
}

export function register(command: Command): void {
  command
    .description('Work with a folder of streams, even while other processes have it open.')
    .argument('<dir>', 'the folder of the streams')
    .addArgument(new Argument('<action>', 'one of the actions below').choices(Object.keys(USAGES)))
    .argument('[names...]', 'streams or files')
    .option(
      '--prefix <text>',
      'ls, export, verify: only streams whose names begin with it; import: prepend it to stream names',
    )
    .option('-n, --lines <count>', 'tail: the number of records (default: 10)', parseWhole)
    .option('-f, --follow', 'tail: wait for new records and print them')
    .option('--from <seq>', 'cat, export: the first record; fork: the first record that is not shared', parseWhole)
    .option('-t, --times', 'cat, tail: print the time and a tab before each record')
    .option('--name <stream>', 'import: the name of the stream, for a single file')
    .option(
      '--time-field <name>',
      "append, import: take the record's time from this member (ISO 8601, or milliseconds)",
    )
    .option('--dry-run', 'import: only report')
    .option(
      '--keep',
      'import: FILE is the output of "export" without NAME: make the same streams, with their options, seqs, times and forks',
    )
    .option('--watch', 'import: also import lines that programs append to the files, until interrupted')
  addJson(command).action(run)
  addHelpSection(
    command,
    'Actions',
    Object.entries(USAGES).map(([action, { names, summary }]) => [action + names, summary] as const),
  )
}

function check(action: string, names: readonly string[], flags: StreamsFlags): void {
  const usage = USAGES[action] as Usage
  const given = (Object.keys(flags) as (keyof StreamsFlags)[]).filter((flag): flag is Flag => flag !== 'json')
  const wrong = given.find((flag) => !usage.flags.includes(flag))
  const problem =
    wrong !== undefined
      ? `"${action}" has no option --${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
      : names.length < usage.min || names.length > usage.max
        ? `"${action}" is called as: durlog streams DIR ${action}${usage.names}`
        : flags.name !== undefined && names.length > 1
          ? '--name is the name of a single stream: name one file'
          : flags.dryRun && flags.watch
            ? '--dry-run cannot be combined with --watch'
            : flags.keep && given.length > 1
              ? '--keep cannot be combined with other options: the file has the names and the times'
              : action === 'export' && (names.length === 0 ? flags.from : flags.prefix) !== undefined
                ? '--from needs the name of a stream, and --prefix applies to several streams'
                : ''
  if (problem !== '') throw new InputError(problem, ExitCode.usage)
}

async function run(dir: string, action: string, names: string[], flags: StreamsFlags): Promise<void> {
  check(action, names, flags)
  if (action === 'import' && flags.dryRun) return importFiles(undefined, dir, names, flags)
  if (action === 'accept-clock') {
    await using accepted = await openStreams(dir, { create: false, exclusive: true, acceptClock: true })
    const lastTime = new Date().toISOString()
    if (flags.json) return writeJson({ dir: accepted.dir, lastTime })
    return writeOut(`new records of ${visible(accepted.dir)} continue with the time ${lastTime}\n`)
  }
  if (action === 'append') return appendLines(dir, names[0] as string, names[1], flags)
  if (action === 'import') {
    await using folder = new LateFolder(dir)
    const made = (): Promise<Folder<unknown>> => folder.made()
    if (!flags.keep) return await importFiles(made, dir, names, flags)
    for (const file of names) await importAll(made, file, flags)
    return
  }
  if (action === 'verify' && isBackup(dir)) return verifyBackup(resolve(dir), flags)
  await using streams = await joinStreams(dir, { create: false })
  await (ACTIONS[action] as Action)(streams, names, flags)
}
