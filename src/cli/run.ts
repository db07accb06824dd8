/** One call of the command `durlog`. Loads only the modules of the subcommand that is used. */
import { Command, CommanderError } from 'commander'
import { EXIT_CODES_HELP, EXIT_CODES_HINT, ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { writeOut } from '../terminal/output.js'
import { packageVersion } from '../terminal/version.js'
import { addCommands } from './command-list.js'
import { reportFailure } from './failure.js'

const START_HELP = `
Start:
  echo hello | durlog append ./log   create a log and append a record to it
  durlog cat ./log                   print the records
  durlog example                     list programs for common tasks
`

/** Runs one command and returns its exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const json = args.includes('--json')
  let help = ''
  const program = new Command('durlog')
    .description('A durable append log. Each append has a durability level, which says how safe its record is.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .addHelpText('after', START_HELP + EXIT_CODES_HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        help += text
      },
      writeErr: (text) => void (json || process.stderr.write(text)),
      outputError: (text, write) => write(text.replace(/^error: /, 'durlog: USAGE: ')),
    })
    .hook('preAction', (_, command) => refuseEmptyArgument(command))
  const named = args.filter((argument) => !argument.startsWith('-')).slice(0, 2)
  const chosen = named[0] === 'help' ? named[1] : named[0]
  try {
    await addCommands(program, (name) => name === chosen)
    if (
      named[0] === 'help' &&
      chosen !== undefined &&
      ![...program.commands.map((command) => command.name()), 'help'].includes(chosen)
    )
      throw new InputError(`there is no command "${chosen}": "durlog --help" lists them`, ExitCode.usage)
    program.showHelpAfterError('  "durlog --help" lists the commands')
    for (const command of program.commands) {
      command.addHelpText('after', EXIT_CODES_HINT)
      command.showHelpAfterError(`  usage: durlog ${command.name()} ${command.usage()}`)
    }
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
    if (json) reportFailure(new InputError(error.message.replace(/^error: /, ''), ExitCode.usage), json)
    return ExitCode.usage
  }
}

/** Throws if an argument is '', as that of an unset variable of the shell: Node takes it for the working directory. */
function refuseEmptyArgument({ args, registeredArguments }: Command): void {
  const at = args.indexOf('')
  if (at === -1) return
  const name = (registeredArguments[at] ?? registeredArguments.at(-1))?.name()
  throw new InputError(`the argument "${name}" is empty: a variable of the shell may not be set`, ExitCode.usage)
}
