#!/usr/bin/env node
/** The command `durlog` as a process. */
import { reportFailure } from './failure.js'
import { run } from './run.js'

// Errors are handled by the callback of each write. Without a listener, they would also end the process with a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

run(process.argv.slice(2)).then(
  (exitCode) => {
    process.exitCode = exitCode
  },
  (error: unknown) => {
    process.exitCode = reportFailure(error, false)
  },
)
