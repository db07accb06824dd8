import type { Command } from 'commander'
import { EXIT_CODES_HELP } from '../../terminal/exit-codes.js'
import { helpSections } from '../../terminal/help.js'
import { writeOut } from '../../terminal/output.js'
import { packageVersion } from '../../terminal/version.js'

export function register(command: Command, loadAll: () => Promise<readonly Command[]>): void {
  command
    .description(
      'Print the manual page, which contains the text of every --help, in the format of man(1): durlog man | man -l -',
    )
    .action(async () => writeOut(manPage(await loadAll(), packageVersion())))
}

/** Escapes `text` so that roff shows it literally. */
function literal(text: string): string {
  return text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')
}

function item([term, description]: readonly [string, string]): string[] {
  return ['.TP', `.B ${literal(term)}`, literal(description)]
}

function section(command: Command): string[] {
  const help = command.createHelp()
  const entries = [
    ...help.visibleArguments(command).map((each) => [help.argumentTerm(each), help.argumentDescription(each)]),
    ...help.visibleOptions(command).map((each) => [help.optionTerm(each), help.optionDescription(each)]),
  ] as [string, string][]
  const args = command.registeredArguments.map((each) => help.argumentTerm(each))
  const usage = [
    'durlog',
    command.name(),
    '[options]',
    ...help.visibleArguments(command).map((_, i) => argumentUsage(command, i, args)),
  ]
  return [
    `.SS ${literal(usage.join(' '))}`,
    literal(command.description()),
    ...entries.flatMap(item),
    ...helpSections(command).flatMap(({ title, items }) => ['.PP', literal(`${title}:`), ...items.flatMap(item)]),
  ]
}

function argumentUsage(command: Command, index: number, names: readonly string[]): string {
  const argument = command.registeredArguments[index]
  const name = `${names[index]}${argument?.variadic ? '...' : ''}`
  return argument?.required ? `<${name}>` : `[${name}]`
}

function manPage(commands: readonly Command[], version: string): string {
  const lines = [
    `.TH DURLOG 1 "" "durlog ${version}" "User Commands"`,
    '.SH NAME',
    literal('durlog - a durable append log'),
    '.SH SYNOPSIS',
    '.B durlog',
    '.I command',
    literal('[options] [arguments]'),
    '.SH COMMANDS',
    ...commands.flatMap(section),
    '.SH EXIT STATUS',
    literal(EXIT_CODES_HELP.trim().replace(/^Exit status: /, '')),
  ]
  return `${lines.join('\n')}\n`
}
