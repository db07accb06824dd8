/** Options that several commands share, and how their values are read. */
import { type Command, InvalidArgumentError } from 'commander'

const UNITS: Record<string, number> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

export function parseWhole(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

/** A number of bytes, with K, M or G (1024 each) behind it if wanted: 65536, 64K, 64KiB. */
export function parseBytes(text: string): number {
  const match = /^(\d+)\s*([kmg]?)(i?b)?$/i.exec(text)
  if (match === null) throw new InvalidArgumentError('It must be a number of bytes, such as 65536, 64K or 64MiB.')
  return Number(match[1]) * (UNITS[(match[2] ?? '').toLowerCase()] as number)
}

export function addJson(command: Command): Command {
  return command.option('--json', 'write JSON, errors too')
}
