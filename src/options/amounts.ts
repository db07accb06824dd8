/** Sizes and durations as text, in options of the library and on the command line. */

const UNIT_BYTES: Readonly<Record<string, number>> = { b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }
const UNIT_MICROS: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
  d: 86_400_000_000,
}

/**
 * Parses a size such as `64k`, `64KiB` or `1.5g` and returns bytes. The case of the unit does not matter; k is 1024.
 * Undefined for other text, including a number without a unit.
 */
export function parseBytes(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?|b)$/i.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (UNIT_BYTES[(unit ?? 'b').toLowerCase()] as number)
}

/**
 * Parses a duration such as `200us`, `250ms`, `90s`, `15m`, `2h` or `7d` and returns microseconds. Undefined for other
 * text.
 */
export function parseMicros(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(us|ms|[smhd])$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (UNIT_MICROS[unit as string] as number)
}

/** As `parseMicros`, but returns milliseconds. */
export function parseMillis(text: string): number | undefined {
  const micros = parseMicros(text)
  return micros === undefined ? undefined : micros / 1000
}

/** Parses a whole number in decimal digits. Undefined for other text, and for a number that is not a safe integer. */
export function parseWhole(text: string): number | undefined {
  const value = Number(text)
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined
}
