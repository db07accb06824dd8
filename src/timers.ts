/**
 * Node's timers and its monotonic clock, taken when the package loads. Tests of applications replace them by simulated
 * ones (`mock.timers` of node:test, @sinonjs/fake-timers), also in `node:timers`. durlog waits for devices and for
 * other processes, whose time no test simulates. In a window (Electron, jsdom), the global timers are not Node's.
 *
 * The wall clock, `Date`, is not here: durlog stores its times, but no wait depends on it.
 */
import { performance } from 'node:perf_hooks'
import timers from 'node:timers'

export const clearImmediate: typeof timers.clearImmediate = timers.clearImmediate
export const clearInterval: typeof timers.clearInterval = timers.clearInterval
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
export const setInterval: typeof timers.setInterval = timers.setInterval
export const setTimeout: typeof timers.setTimeout = timers.setTimeout

/**
 * Resolves after `ms`. Rejects with the reason of `signal` once it is aborted. Not the function of
 * `node:timers/promises`, because every program that imports durlog would load that module.
 */
export function wait(ms: number, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const end = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export const nextTick: typeof process.nextTick = process.nextTick
export const queueMicrotask: typeof globalThis.queueMicrotask = globalThis.queueMicrotask
/** A signal that is aborted after `ms`. */
export const timeoutSignal: (ms: number) => AbortSignal = AbortSignal.timeout.bind(AbortSignal)

/** A clock that never goes back, in milliseconds. */
export const clock: { now(): number } = { now: performance.now.bind(performance) }
