import { Argument, type Command, type Option } from 'commander'
import { writeOut } from '../../terminal/output.js'

const SCRIPTS: Record<string, (commands: readonly Command[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

export function register(command: Command, loadAll: () => Promise<readonly Command[]>): void {
  command
    .description(
      'Print a script that completes commands, options and their values. For bash: durlog completion bash > ~/.local/share/bash-completion/completions/durlog. For zsh: save it as _durlog in a folder of $fpath. For fish: save it as ~/.config/fish/completions/durlog.fish.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .action(async (shell: string) => writeOut((SCRIPTS[shell] as (typeof SCRIPTS)[string])(await loadAll())))
}

/** Quotes a word for a shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replace(/'/g, "'\\''")}'`
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command)
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined)
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional
}

/** The allowed values of the first argument, if they are known. */
function argumentChoices(command: Command): readonly string[] {
  return command.registeredArguments[0]?.argChoices ?? []
}

function bashScript(commands: readonly Command[]): string {
  const words = (list: readonly string[]): string => `COMPREPLY=($(compgen -W ${quoted(list.join(' '))} -- "$word"))`
  const values = commands.flatMap((command) =>
    optionsOf(command)
      .filter((option) => takesValue(option))
      .map((option) => {
        const pattern = flagsOf(option).map((flag) => `${command.name()}:${flag}`)
        return `    ${pattern.join('|')}) ${option.argChoices ? words(option.argChoices) : 'COMPREPLY=($(compgen -f -- "$word"))'}; return ;;`
      }),
  )
  const flags = commands.map(
    (command) => `    ${command.name()}:-*) ${words(optionsOf(command).flatMap(flagsOf))}; return ;;`,
  )
  const choices = commands
    .filter((command) => argumentChoices(command).length > 0)
    .map((command) => `    ${command.name()}:*) ${words(argumentChoices(command))}; return ;;`)
  return `# bash completion for durlog, made by "durlog completion bash"
_durlog() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  if ((COMP_CWORD == 1)); then
    ${words([...commands.map((command) => command.name()), 'help', '--help', '--version'])}
    return
  fi
  case "\${COMP_WORDS[1]}:$previous" in
${values.join('\n')}
  esac
  case "\${COMP_WORDS[1]}:$word" in
    help:*) ${words(commands.map((command) => command.name()))}; return ;;
${[...flags, ...choices].join('\n')}
  esac
  COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _durlog durlog
`
}

function zshScript(commands: readonly Command[]): string {
  const plain = (text: string): string => text.replace(/[\\[\]:]/g, '\\$&')
  const spec = (option: Option): string[] => {
    const value = takesValue(option)
      ? `:value:${option.argChoices ? `(${option.argChoices.join(' ')})` : '_files'}`
      : ''
    return flagsOf(option).map((flag) => quoted(`${flag}[${plain(option.description)}]${value}`))
  }
  const cases = commands.map((command) => {
    const choices = argumentChoices(command)
    const rest = quoted(choices.length > 0 ? `*:value:(${choices.join(' ')})` : '*:file:_files')
    return `    ${command.name()}) _arguments ${[...optionsOf(command).flatMap(spec), rest].join(' ')} ;;`
  })
  const names = commands.map((command) => `    ${quoted(`${command.name()}:${plain(command.summary())}`)}`)
  return `#compdef durlog
# zsh completion for durlog, made by "durlog completion zsh"
_durlog() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _durlog ]]; then _durlog "$@"; else compdef _durlog durlog; fi
`
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const seen = `__fish_seen_subcommand_from ${command.name()}`
    const options = optionsOf(command).map((option) => {
      const { short, long, argChoices, description } = option
      return [
        `complete -c durlog -n ${quoted(seen)}`,
        ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
        ...(long === undefined ? [] : [`-l ${long.slice(2)}`]),
        ...(takesValue(option) ? [argChoices ? `-x -a ${quoted(argChoices.join(' '))}` : '-r'] : []),
        `-d ${quoted(description)}`,
      ].join(' ')
    })
    const choices = argumentChoices(command)
    const values =
      choices.length === 0 ? [] : [`complete -c durlog -f -n ${quoted(seen)} -a ${quoted(choices.join(' '))}`]
    const name = `complete -c durlog -f -n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.summary())}`
    return [name, ...options, ...values]
  })
  return `# fish completion for durlog, made by "durlog completion fish"\n${lines.join('\n')}\n`
}
