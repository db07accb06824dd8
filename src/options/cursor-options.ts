/** Checks the arguments of an open log's cursors, and fills in defaults. Each throws ERR_DURLOG_INVALID_ARGUMENT. */
import { invalidArgument } from '../errors.js'
import type {
  CommitOptions,
  CursorDurability,
  CursorOptions,
  CursorReadOptions,
  EnsureCursorOptions,
} from '../types.js'
import { checkSignal } from './abort-signal.js'
import { checkSeq, resolveReadOptions } from './call-options.js'
import { bag, choice, shown, whole } from './checks.js'

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const DURABILITIES: readonly CursorDurability[] = ['memory', 'sync', 'full']

export function isCursorName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name)
}

export function checkCursorName(name: unknown): asserts name is string {
  if (!isCursorName(name))
    throw invalidArgument(`name must be 1 to 64 letters, digits, "-" and "_"; got ${shown(name)}`)
}

export interface ResolvedCursorOptions {
  from: 'first' | 'next' | number
  waitMs: number
  signal?: AbortSignal | undefined
}

export function resolveCursorOptions(options?: CursorOptions): ResolvedCursorOptions {
  const { from, waitMs, signal } = bag('cursor options', options, ['from', 'waitMs', 'signal']) as CursorOptions
  const range = { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }
  return { from: checkFrom(from), waitMs: whole('waitMs', waitMs, range, 0), signal: checkSignal(signal) }
}

export function resolveEnsureOptions(options?: EnsureCursorOptions): Pick<ResolvedCursorOptions, 'from'> {
  const { from } = bag('cursor options', options, ['from']) as EnsureCursorOptions
  return { from: checkFrom(from) }
}

function checkFrom(from: CursorOptions['from'] = 'first'): ResolvedCursorOptions['from'] {
  if (typeof from === 'number') checkSeq('from', from)
  else if (from !== 'first' && from !== 'next')
    throw invalidArgument(`from must be "first", "next" or a seq; got ${shown(from)}`)
  return from
}

export function resolveCommitOptions(options: unknown): {
  durability: CursorDurability
  signal: AbortSignal | undefined
} {
  const { durability, signal } = bag('commit options', options, ['durability', 'signal']) as CommitOptions
  return { durability: choice('durability', durability, DURABILITIES, 'memory'), signal: checkSignal(signal) }
}

/** Checks the options of a cursor's `read`. */
export function resolveCursorReadOptions(options: unknown): CursorReadOptions {
  if (typeof options === 'object' && options !== null) {
    for (const name of ['from', 'since'])
      if (Object.hasOwn(options, name))
        throw invalidArgument(`"${name}" is not an option of a cursor's read, which begins at its position: use "seek"`)
  }
  return resolveReadOptions(options)
}
