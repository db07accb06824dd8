/** Every subcommand; its module is loaded when the subcommand is used. */
import { Command } from 'commander'

interface CommandModule {
  /** `loadAll` is for commands that describe all commands. */
  register(program: Command, loadCommands: typeof loadAll): void
}

export interface Entry {
  name: string
  summary: string
  load(): Promise<CommandModule>
}

/** Built separately, on top of the library: only this path leads from the command line to the bench. */
const BENCH = new URL('../../bench/dist/command.js', import.meta.url)

export const COMMANDS: readonly Entry[] = [
  { name: 'append', summary: 'append records from stdin or a file', load: () => import('./commands/append.js') },
  { name: 'cat', summary: 'print records', load: () => import('./commands/cat.js') },
  {
    name: 'tail',
    summary: 'print the last records, and new ones as they arrive',
    load: () => import('./commands/tail.js'),
  },
  { name: 'get', summary: 'print one record', load: () => import('./commands/get.js') },
  { name: 'stat', summary: 'show which records a log holds', load: () => import('./commands/stat.js') },
  {
    name: 'cursors',
    summary: 'list, create, move or remove cursors',
    load: () => import('./commands/cursors.js'),
  },
  { name: 'serve', summary: 'serve streams over HTTP', load: () => import('./commands/serve.js') },
  { name: 'top', summary: 'watch rates, latency, segments and cursors', load: () => import('./commands/top.js') },
  { name: 'verify', summary: 'read everything and report damage', load: () => import('./commands/verify.js') },
  {
    name: 'repair',
    summary: 'remove what a crash left, after a backup',
    load: () => import('./commands/repair.js'),
  },
  { name: 'dump', summary: 'print the segment files frame by frame', load: () => import('./commands/dump.js') },
  { name: 'export', summary: 'print records as lines of JSON', load: () => import('./commands/export.js') },
  { name: 'import', summary: 'append records from lines of JSON', load: () => import('./commands/import.js') },
  { name: 'trim', summary: 'remove old segments', load: () => import('./commands/trim.js') },
  {
    name: 'streams',
    summary: 'list, read, append to and import streams',
    load: () => import('./commands/streams.js'),
  },
  {
    name: 'backup',
    summary: 'copy a log and its cursors to another folder',
    load: () => import('./commands/backup.js'),
  },
  {
    name: 'restore',
    summary: 'bring a log back from a backup, a bucket or NATS JetStream',
    load: () => import('./commands/restore.js'),
  },
  {
    name: 'archive',
    summary: 'archive a log in an S3-compatible bucket',
    load: () => import('./commands/archive.js'),
  },
  { name: 'ship', summary: 'ship records to NATS JetStream', load: () => import('./commands/ship.js') },
  {
    name: 'doctor',
    summary: 'check whether a disk or a bucket is safe and fit for a log',
    load: () => import('./commands/doctor.js'),
  },
  { name: 'example', summary: 'print an example program', load: () => import('./commands/example.js') },
  {
    name: 'bench',
    summary: 'measure every strategy on this disk',
    load: async () => (await import(BENCH.href)) as CommandModule,
  },
  {
    name: 'completion',
    summary: 'print a completion script for a shell',
    load: () => import('./commands/completion.js'),
  },
  { name: 'man', summary: 'print the manual page', load: () => import('./commands/man.js') },
]

/** A program with every command, for the manual page and the completion scripts. */
export async function loadAll(): Promise<readonly Command[]> {
  const program = new Command('durlog')
  for (const { load } of COMMANDS) (await load()).register(program, loadAll)
  return program.commands
}
