#!/usr/bin/env node
/** The command `durlog`: loads only what the given subcommand needs. */
import { Command, CommanderError } from 'commander'
import { EXIT_CODES_HELP, ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { writeOut } from '../terminal/output.js'
import { packageVersion } from '../terminal/version.js'
import { reportFailure } from './failure.js'

interface CommandModule {
  register(program: Command): void
}

interface Entry {
  name: string
  summary: string
  load(): Promise<CommandModule>
}

/** Built apart, on top of the library: only this path leads from the command line to the bench. */
const BENCH = new URL('../../bench/dist/command.js', import.meta.url)

const COMMANDS: readonly Entry[] = [
  { name: 'append', summary: 'append records from stdin or a file', load: () => import('./commands/append.js') },
  { name: 'cat', summary: 'print records', load: () => import('./commands/cat.js') },
  {
    name: 'tail',
    summary: 'print the last records, and new ones as they come',
    load: () => import('./commands/tail.js'),
  },
  { name: 'get', summary: 'print one record', load: () => import('./commands/get.js') },
  { name: 'stat', summary: 'tell what a log holds', load: () => import('./commands/stat.js') },
  {
    name: 'cursors',
    summary: 'tell how far each cursor of a log is',
    load: () => import('./commands/cursors.js'),
  },
  { name: 'top', summary: 'watch logs: rates, latency, segments, cursors', load: () => import('./commands/top.js') },
  { name: 'verify', summary: 'read everything and tell what is damaged', load: () => import('./commands/verify.js') },
  {
    name: 'repair',
    summary: 'cut a torn tail or a hole, with a backup of what goes',
    load: () => import('./commands/repair.js'),
  },
  { name: 'dump', summary: 'print the files frame by frame', load: () => import('./commands/dump.js') },
  { name: 'export', summary: 'print records as lines of JSON', load: () => import('./commands/export.js') },
  { name: 'import', summary: 'append records from lines of JSON', load: () => import('./commands/import.js') },
  { name: 'trim', summary: 'remove old segments', load: () => import('./commands/trim.js') },
  { name: 'ship', summary: 'ship records to NATS JetStream', load: () => import('./commands/ship.js') },
  {
    name: 'restore',
    summary: 'restore a log from NATS JetStream',
    load: () => import('./commands/restore.js'),
  },
  {
    name: 'doctor',
    summary: 'tell whether a disk is honest and fit for a log',
    load: () => import('./commands/doctor.js'),
  },
  {
    name: 'bench',
    summary: 'measure every strategy on this disk',
    load: async () => (await import(BENCH.href)) as CommandModule,
  },
]

/** Runs one command; its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const json = args.includes('--json')
  let help = ''
  const program = new Command('durlog')
    .description('An append log that says, for each record, how safe it is.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .addHelpText('after', EXIT_CODES_HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        help += text
      },
      writeErr: (text) => void (json || process.stderr.write(text)),
    })
  const named = args.filter((argument) => !argument.startsWith('-')).slice(0, 2)
  const chosen = named[0] === 'help' ? named[1] : named[0]
  try {
    for (const { name, summary, load } of COMMANDS) {
      if (name === chosen) (await load()).register(program)
      else program.command(name).summary(summary).description(summary)
    }
    for (const command of program.commands) command.addHelpText('after', EXIT_CODES_HELP)
    await program.parseAsync([...args], { from: 'user' })
    return Number(process.exitCode ?? ExitCode.ok)
  } catch (error) {
    if (!(error instanceof CommanderError))
      return reportFailure(
        error,
        json,
        program.commands.find((command) => command.name() === chosen),
      )
    if (error.exitCode === 0)
      return writeOut(help).then(
        () => ExitCode.ok,
        (failed) => reportFailure(failed, json),
      )
    // Commander has already printed the message.
    if (json) reportFailure(new InputError(error.message, ExitCode.usage), json)
    return ExitCode.usage
  }
}

// The callback of each write reports its error; without a listener the process would end with a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

main(process.argv.slice(2)).then(
  (exitCode) => {
    process.exitCode = exitCode
  },
  (error: unknown) => {
    process.exitCode = reportFailure(error, false)
  },
)
