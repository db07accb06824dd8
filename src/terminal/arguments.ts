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

const AGO_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A moment: ISO 8601, milliseconds since 1970, or how long ago (90s, 15m, 2h, 7d). Milliseconds since 1970. */
export function parseTime(text: string): number {
  const ago = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text)
  const ms = ago
    ? Date.now() - Number(ago[1]) * (AGO_MS[ago[2] as string] as number)
    : /^\d{9,}$/.test(text)
      ? Number(text)
      : Date.parse(text)
  if (!(ms >= 0))
    throw new InvalidArgumentError('It must be a time, such as 2026-01-31T12:00Z, or how long ago: 90s, 15m, 2h, 7d.')
  return ms
}

/** A length of time, such as 90s, 15m, 2h or 7d, in milliseconds. */
export function parseAge(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text)
  if (match === null) throw new InvalidArgumentError('It must be a length of time: 90s, 15m, 2h, 7d.')
  return Number(match[1]) * (AGO_MS[match[2] as string] as number)
}

export interface TimeFlags {
  since?: number
  until?: number
}

/** The options that bound what is read by time. */
export function addTimes(command: Command): Command {
  return command
    .option('--since <time>', 'from this time on: ISO 8601, or how long ago (90s, 15m, 2h, 7d)', parseTime)
    .option('--until <time>', 'before this time', parseTime)
}

export function addJson(command: Command): Command {
  return command.option('--json', 'write JSON, errors too')
}
