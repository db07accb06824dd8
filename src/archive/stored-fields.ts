/**
 * Checks the fields of an archive's objects. The store chooses their values, so no value is used before a method of
 * this class has returned it.
 */
import { DurlogError } from '../errors.js'
import { parseWhole } from '../options/amounts.js'
import { shown, UUID } from '../options/checks.js'

/** The highest seq, generation and time: each can be incremented. */
const MAX_WHOLE = 2 ** 53 - 2

export class StoredFields {
  readonly #url: string
  readonly #values: object

  /** `values` is the metadata, or the parsed JSON, of the object at `url`. */
  constructor(url: string, values: unknown) {
    this.#url = url
    this.#values = Object(values)
  }

  /** Returns the names of all fields. Throws ERR_DURLOG_CORRUPT if one is not a name as `isName` decides. */
  names(isName: (name: string) => boolean): string[] {
    const names = Object.keys(this.#values)
    const wrong = names.find((name) => !isName(name))
    if (wrong === undefined) return names
    throw this.#damaged(`it has a field with the name ${shown(wrong)}`)
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name)
  }

  /**
   * Returns a whole number, or one that is written in decimal digits. Throws ERR_DURLOG_CORRUPT for any other value.
   */
  whole(name: string, { min = 0, max = MAX_WHOLE }: { min?: number; max?: number } = {}): number {
    const value = this.#get(name)
    const number = typeof value === 'string' ? parseWhole(value) : value
    if (Number.isSafeInteger(number) && (number as number) >= min && (number as number) <= max) return number as number
    throw this.#wrong(name, `a whole number from ${min} to ${max}`)
  }

  /** Returns the SHA-256 of a piece in hexadecimal, which is also a part of a path. Throws ERR_DURLOG_CORRUPT. */
  sha256(name: string): string {
    const value = this.#get(name)
    if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return value
    throw this.#wrong(name, '64 hexadecimal digits')
  }

  /** Throws ERR_DURLOG_CORRUPT if the value is not a UUID. */
  uuid(name: string): string {
    const value = this.#get(name)
    if (typeof value === 'string' && UUID.test(value)) return value
    throw this.#wrong(name, 'a UUID')
  }

  /** Throws ERR_DURLOG_CORRUPT if the value is not one of `allowed`. */
  choice<Text extends string>(name: string, allowed: readonly Text[]): Text {
    const value = this.#get(name)
    if (typeof value === 'string' && (allowed as readonly string[]).includes(value)) return value as Text
    throw this.#wrong(name, `one of ${allowed.join(', ')}`)
  }

  /** Returns a value that `isRight` accepts. Throws ERR_DURLOG_CORRUPT for any other value. */
  checked<Value>(name: string, isRight: (value: unknown) => value is Value, expected: string): Value {
    const value = this.#get(name)
    if (isRight(value)) return value
    throw this.#wrong(name, expected)
  }

  /**
   * Converts the elements of an array within the JSON. `convert` gets the fields of the element, and its name in the
   * fields of the array.
   */
  list<Value>(name: string, convert: (element: StoredFields, name: string, all: StoredFields) => Value): Value[] {
    const value = this.#get(name)
    if (!Array.isArray(value)) throw this.#wrong(name, 'an array')
    const all = new StoredFields(this.#url, value)
    return value.map((element, at) => convert(new StoredFields(this.#url, element), String(at), all))
  }

  /** The fields of an object within the JSON. */
  within(name: string): StoredFields {
    const value = this.#get(name)
    if (typeof value === 'object' && value !== null) return new StoredFields(this.#url, value)
    throw this.#wrong(name, 'an object')
  }

  #get(name: string): unknown {
    return this.has(name) ? (this.#values as Record<string, unknown>)[name] : undefined
  }

  #wrong(name: string, expected: string): DurlogError {
    return this.#damaged(`${name} must be ${expected}; got ${shown(this.#get(name))}`)
  }

  #damaged(reason: string): DurlogError {
    const message = `${this.#url} is damaged, or was not stored by durlog: ${reason}`
    return new DurlogError('ERR_DURLOG_CORRUPT', message, { path: this.#url })
  }
}
