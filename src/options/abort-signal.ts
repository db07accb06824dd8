/** The option `signal`. */
import { invalidArgument } from '../errors.js'
import { shown } from './checks.js'

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
