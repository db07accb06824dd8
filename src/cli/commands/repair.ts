import type { Command } from 'commander'
import { type RepairReport, repair } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatBytes, writeJson, writeOut } from '../../terminal/output.js'
import { exitCodeOfState } from './verify.js'

interface Flags {
  apply?: boolean
  backup?: string
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('repair')
    .summary('cut a torn tail or a hole, with a backup of what goes')
    .description(
      'Tell what would be cut to make the log whole (ends with 0 if nothing, 1 or 2 as verify); with --apply, copy that to a backup and cut it.',
    )
    .argument('<dir>', "the log's folder")
    .option('--apply', 'cut')
    .option('--backup <dir>', 'where the copy goes (default: <dir>-backup-<time>)')
  addJson(command).action(run)
}

async function run(dir: string, { apply, backup, json }: Flags): Promise<void> {
  if (backup !== undefined && !apply) throw new InputError('--backup needs --apply', ExitCode.usage)
  const report = await repair(dir, apply ? { apply, backup: backup ?? defaultBackup(dir) } : {})
  if (!apply) process.exitCode = exitCodeOfState(report.state)
  await (json ? writeJson(report) : writeOut(describe(report)))
}

function defaultBackup(dir: string): string {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')
  return `${dir.replace(/[\\/]+$/, '')}-backup-${time}`
}

function describe({ state, applied, cuts, backup }: RepairReport): string {
  if (cuts.length === 0) {
    if (state === 'corrupt') return 'corrupt: no cut can repair this; "durlog cat --salvage" reads what is whole\n'
    return `${state}: nothing to cut\n`
  }
  const verb = applied ? 'cut' : 'would cut'
  const lines = cuts.map(({ segment, offset, bytes, removed }) => {
    const what = removed ? 'the whole file' : `from byte ${offset} on`
    return `${verb} ${segment}: ${what}, ${formatBytes(bytes)}\n`
  })
  const end = applied ? `copied to ${backup}\n` : 'nothing was changed; --apply does it, after a backup\n'
  return `${state}\n${lines.join('')}${end}`
}
