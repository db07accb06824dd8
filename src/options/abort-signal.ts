/** The option `signal`. */
import { invalidArgument } from '../errors.js'
import { bag, shown } from './checks.js'

/**
 * Checks the option. Accepts a signal of another realm, because in Electron windows and in Jest the caller's globals
 * may differ from this module's. Throws ERR_DURLOG_INVALID_ARGUMENT.
 */
export function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined) return undefined
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return signal as AbortSignal
  throw invalidArgument(`signal must be an AbortSignal; got ${shown(signal)}`)
}

/** Checks the options of a call that has only `signal`. */
export function resolveWait(name: string, options: unknown): AbortSignal | undefined {
  return checkSignal(bag(`${name} options`, options, ['signal'])['signal'])
}

/**
 * Calls `start`, unless `signal` is aborted, and waits for the promise that it returns. If the signal is aborted before
 * that, rejects with its reason. What `start` began continues and is not undone; a later result goes to `drop`.
 */
export function abortable<T>(
  signal: AbortSignal | undefined,
  start: () => Promise<T>,
  drop?: (late: T) => void,
): Promise<T> {
  if (signal === undefined) return start()
  if (signal.aborted) return Promise.reject(signal.reason)
  const work = start()
  return new Promise((resolve, reject) => {
    let isOver = false
    const cancel = onAbort(signal, () => {
      isOver = true
      reject(signal.reason)
    })
    work.finally(cancel).then((value) => (isOver ? drop?.(value) : resolve(value)), reject)
  })
}

/** The calls that one signal aborts. All of them share one listener. */
interface Calls {
  callbacks: Set<() => void>
  listener: () => void
}

const callsOf = new WeakMap<AbortSignal, Calls>()

/**
 * Calls `callback` when `signal` is aborted. Returns a function that cancels this. All calls with one signal share one
 * listener, because Node warns of a leak at the eleventh listener.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {}
  const calls = callsOf.get(signal) ?? listen(signal)
  calls.callbacks.add(callback)
  return () => {
    calls.callbacks.delete(callback)
    if (calls.callbacks.size > 0 || callsOf.get(signal) !== calls) return
    callsOf.delete(signal)
    signal.removeEventListener('abort', calls.listener)
  }
}

/**
 * Returns a signal that is aborted with the first of `signals`, until `forget` is called. `AbortSignal.any` of Node 20
 * and 22 takes memory with each call until all of its signals are collected.
 */
export function anySignal(signals: readonly (AbortSignal | undefined)[]): { signal: AbortSignal; forget(): void } {
  const any = new AbortController()
  const forgets = signals.map((signal) => onAbort(signal, () => any.abort(signal?.reason)))
  const aborted = signals.find((signal) => signal?.aborted)
  if (aborted !== undefined) any.abort(aborted.reason)
  return { signal: any.signal, forget: () => forgets.forEach((forget) => void forget()) }
}

function listen(signal: AbortSignal): Calls {
  const callbacks = new Set<() => void>()
  const listener = (): void => {
    callsOf.delete(signal)
    for (const callback of callbacks) callback()
  }
  signal.addEventListener('abort', listener, { once: true })
  const calls = { callbacks, listener }
  callsOf.set(signal, calls)
  return calls
}
