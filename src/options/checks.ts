/** Checks of single values. Each throws ERR_DURLOG_INVALID_ARGUMENT with the name, the value and the allowed values. */
import { invalidArgument } from '../errors.js'
import { parseBytes, parseMicros, parseMillis } from './amounts.js'

/** The form of the UUIDs that durlog makes. */
export const UUID: RegExp = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Formats `value` for an error message: short, and a string in quotes. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/** Undefined if `text` is no URL. Electron 25 does not have `URL.canParse`. */
export function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** As `shown`, for an address: leaves out a user and a password, which are also the reason why some are no URLs. */
export function shownAddress(value: unknown): string {
  return shown(typeof value === 'string' ? value.replace(/^.*@/s, '…@') : value)
}

/** Whether `text` has no unpaired surrogate, which UTF-8 cannot express. */
export function isUnicode(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Whether `value` is a whole number from 0 on, for values that are not options. */
export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function choice<T extends string>(name: string, value: unknown, allowed: readonly T[], preset: T): T {
  if (value === undefined) return preset
  if (typeof value === 'string' && (allowed as readonly string[]).includes(value)) return value as T
  throw invalidArgument(`${name} must be one of ${allowed.join(', ')}; got ${shown(value)}`)
}

export interface Range {
  min: number
  max: number
  /** The name of what the number counts. Omitted if the number is a seq or another name of a thing. */
  unit?: string
  multipleOf?: number
}

/** The units for which an amount may be text: the parser, and examples for error messages. */
const TEXTS: Readonly<Record<string, { parse: (text: string) => number | undefined; examples: string }>> = {
  bytes: { parse: parseBytes, examples: '"64k" or "2g"' },
  milliseconds: { parse: parseMillis, examples: '"90s" or "7d"' },
  microseconds: { parse: parseMicros, examples: '"200us" or "1ms"' },
}

/** Checks a whole number. An amount of bytes, milliseconds or microseconds may also be text with a unit. */
export function whole(name: string, value: unknown, range: Range, preset: number): number {
  if (value === undefined) return preset
  const { min, max, unit, multipleOf = 1 } = range
  const texts = unit === undefined ? undefined : TEXTS[unit]
  const amount = typeof value === 'string' ? texts?.parse(value) : value
  if (
    typeof amount === 'number' &&
    Number.isInteger(amount) &&
    amount >= min &&
    amount <= max &&
    amount % multipleOf === 0
  )
    return amount
  const multiple = multipleOf === 1 ? '' : `, a multiple of ${multipleOf}`
  const counted = unit === undefined ? '' : ` of ${unit}`
  const text = texts === undefined ? '' : `, or text such as ${texts.examples}`
  throw invalidArgument(
    `${name} must be a whole number${counted} from ${min} to ${max}${multiple}${text}; got ${shown(value)}`,
  )
}

export function flag(name: string, value: unknown, preset: boolean): boolean {
  if (value === undefined) return preset
  if (typeof value === 'boolean') return value
  throw invalidArgument(`${name} must be true or false; got ${shown(value)}`)
}

/** Checks a function that is called with events; by default, they are not reported. */
export function callback<Arguments extends unknown[]>(
  name: string,
  value: ((...args: Arguments) => void) | undefined,
): (...args: Arguments) => void {
  if (value === undefined) return () => {}
  if (typeof value === 'function') return value
  throw invalidArgument(`${name} must be a function; got ${shown(value)}`)
}

/**
 * Accepts a URL of another realm, because in Electron windows and in Jest the caller's globals may differ from this
 * module's.
 */
export function isUrl(value: unknown): value is URL {
  const { href, protocol } = Object(value) as Partial<URL>
  return typeof href === 'string' && typeof protocol === 'string'
}

/**
 * Returns the values of the options `names` in an object without a prototype. Reads each property once, and ignores
 * properties of Object.prototype.
 */
export function bag(name: string, value: unknown, names: readonly string[]): Record<string, unknown> {
  const given = Object.create(null) as Record<string, unknown>
  if (value === undefined) return given
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidArgument(`${name} must be an object; got ${shown(value)}`)
  for (const key of Object.keys(value)) {
    if (!names.includes(key)) throw invalidArgument(`${name}: there is no "${key}"; use ${names.join(', ')}`)
  }
  for (const key of names) {
    if (isOption(value, key)) given[key] = (value as Record<string, unknown>)[key]
  }
  return given
}

/** Whether `value` has the property `key`, as its own or inherited from a class other than Object. */
function isOption(value: object, key: string): boolean {
  if (!(key in value)) return false
  if (!(key in Object.prototype)) return true
  for (let holder: object | null = value; holder !== null && holder !== Object.prototype; ) {
    if (Object.hasOwn(holder, key)) return true
    holder = Object.getPrototypeOf(holder) as object | null
  }
  return false
}
