/** Ctrl-C on a command that works for a while. */

const EXIT_CODE = 130

/** A command was ended by SIGINT after it had finished what it had begun. */
export class InterruptedError extends Error {
  readonly exitCode: number = EXIT_CODE

  constructor() {
    super('ended by SIGINT')
  }
}

/** Calls `callback` at the next SIGINT; returns what ends that. A second SIGINT ends the process. */
export function onInterrupt(callback: () => void): () => void {
  process.once('SIGINT', callback)
  return () => void process.removeListener('SIGINT', callback)
}

/** At SIGINT prints what `describe` returns and ends the process; returns what ends that. */
export function reportOnInterrupt(describe: () => string): () => void {
  return onInterrupt(() => {
    process.stderr.write(`durlog: interrupted; ${describe()}\n`)
    process.exit(EXIT_CODE)
  })
}
