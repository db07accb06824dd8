/** The list of all subcommands. The module of a subcommand is loaded when it is used. */
import { Command } from 'commander'

interface CommandModule {
  /** `loadCommands` is for commands that describe all commands. */
  register(command: Command, loadCommands: typeof loadAll): void
}

export const COMMANDS: readonly { name: string; summary: string }[] = [
  { name: 'append', summary: 'append records from stdin or a file' },
  { name: 'cat', summary: 'print records' },
  { name: 'tail', summary: 'print the last records, and new ones as they arrive' },
  { name: 'get', summary: 'print one record' },
  { name: 'stat', summary: 'show the records and segments of a log' },
  { name: 'cursors', summary: 'list, create, move or remove cursors' },
  { name: 'serve', summary: 'serve streams over HTTP' },
  { name: 'top', summary: 'watch rates, latency, segments and cursors' },
  { name: 'verify', summary: 'read every record and report damage' },
  { name: 'repair', summary: 'remove incomplete records after a crash, with a backup' },
  { name: 'dump', summary: 'print the segment files frame by frame' },
  { name: 'export', summary: 'print records as lines of JSON' },
  { name: 'import', summary: 'append records from lines of JSON' },
  { name: 'trim', summary: 'remove old segments' },
  { name: 'streams', summary: 'list, read, append to and import streams' },
  { name: 'backup', summary: 'copy a log and its cursors to another folder' },
  { name: 'restore', summary: 'restore a log from a backup, a bucket or NATS JetStream' },
  { name: 'promote', summary: 'make a replica the writer of a replicated log' },
  { name: 'rejoin', summary: 'make the log of a former writer a replica' },
  { name: 'archive', summary: 'archive a log in an S3-compatible bucket' },
  { name: 'ship', summary: 'ship records to NATS JetStream' },
  { name: 'doctor', summary: 'check whether a disk or a bucket is safe for a log' },
  { name: 'example', summary: 'print an example program' },
  { name: 'bench', summary: 'measure every strategy on this disk' },
  { name: 'completion', summary: 'print a completion script for a shell' },
  { name: 'man', summary: 'print the manual page' },
]

/**
 * The module of `bench`, which is built separately. This path is the only reference of the command line to the bench.
 */
const BENCH = new URL('../../bench/dist/command.js', import.meta.url)

/**
 * Adds every command to `program` with its summary. Loads the options only of the commands for which `isWanted` returns
 * true.
 */
export async function addCommands(program: Command, isWanted: (name: string) => boolean): Promise<void> {
  for (const { name, summary } of COMMANDS) {
    const command = program.command(name).summary(summary).description(summary)
    if (!isWanted(name)) continue
    const module: CommandModule = await import(name === 'bench' ? BENCH.href : `./commands/${name}.js`)
    module.register(command, loadAll)
  }
}

/** Returns every command with its options, for the manual page and the completion scripts. */
export async function loadAll(): Promise<readonly Command[]> {
  const program = new Command('durlog')
  await addCommands(program, () => true)
  return program.commands
}
