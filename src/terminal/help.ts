/** Sections of --help in addition to those of commander. */
import type { Command } from 'commander'

/** A name and its description. */
type HelpItem = readonly [string, string]

interface HelpSection {
  title: string
  items: readonly HelpItem[]
}

const SECTIONS = new WeakMap<Command, readonly HelpSection[]>()

/** Adds a section after the options in the help of `command`, and to its part of the manual page. */
export function addHelpSection(command: Command, title: string, items: readonly HelpItem[]): void {
  SECTIONS.set(command, [...helpSections(command), { title, items }])
  command.addHelpText('after', () => `\n${title}:\n${formatItems(command, items, process.stdout.columns ?? 80)}`)
}

export function helpSections(command: Command): readonly HelpSection[] {
  return SECTIONS.get(command) ?? []
}

/** Returns a line for each item, wrapped to `columns`. */
export function formatItems(command: Command, items: readonly HelpItem[], columns: number): string {
  const help = command.createHelp()
  help.prepareContext({ helpWidth: columns })
  const width = Math.max(...items.map(([name]) => name.length))
  return items.map(([name, text]) => help.formatItem(name, width, text, help)).join('\n')
}
