/** Options and parsers that several commands share. */
import { type Command, InvalidArgumentError } from 'commander'

export function parseWhole(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

export function addJson(command: Command): Command {
  return command.option('--json', 'write JSON, also for errors')
}
