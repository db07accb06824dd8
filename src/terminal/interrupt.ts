/** Ctrl-C or another signal that ends a command. */

const EXIT_CODE = 130

/** A signal has ended a command before its work was complete. Operations that had begun have been completed. */
export class InterruptedError extends Error {
  readonly exitCode: number = EXIT_CODE

  constructor(message = 'ended by SIGINT') {
    super(message)
  }
}

/** Calls `callback` at the next SIGINT; a second SIGINT ends the process. Returns a function that cancels this. */
export function onInterrupt(callback: () => void): () => void {
  process.once('SIGINT', callback)
  return () => void process.removeListener('SIGINT', callback)
}

/** At SIGINT, prints the text that `describe` returns and ends the process. Returns a function that cancels this. */
export function reportOnInterrupt(describe: () => string): () => void {
  return onInterrupt(() => {
    process.stderr.write(`durlog: interrupted; ${describe()}\n`)
    process.exit(EXIT_CODE)
  })
}
