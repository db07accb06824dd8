/** Ctrl-C or another signal that ends a command. */
import { writeMessage } from './output.js'

const EXIT_CODE = 130
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A signal has ended a command before its work was complete. Operations that had begun have been completed. */
export class InterruptedError extends Error {
  readonly exitCode: number = EXIT_CODE
}

/** Calls `callback` at the next of `signals`; a second one ends the process. Returns a function that cancels this. */
export function onInterrupt(
  callback: (interrupted: InterruptedError) => void,
  signals: readonly NodeJS.Signals[] = SIGNALS,
): () => void {
  const stop = (): void => signals.forEach((signal) => void process.removeListener(signal, interrupt))
  const interrupt = (signal: NodeJS.Signals): void => {
    stop()
    callback(new InterruptedError(`ended by ${signal}`))
  }
  for (const signal of signals) process.on(signal, interrupt)
  return stop
}

/** At a signal, prints the text that `describe` returns and ends the process. Returns a function that cancels this. */
export function reportOnInterrupt(describe: () => string): () => void {
  return onInterrupt(() => {
    writeMessage('durlog: ', `interrupted; ${describe()}`)
    process.exit(EXIT_CODE)
  })
}
