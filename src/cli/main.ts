#!/usr/bin/env node
/** The command `durlog` as a process. */
import { constants } from 'node:os'
import { reportFailure } from './failure.js'
import { run } from './run.js'

// Errors are handled by the callback of each write. Without a listener, they would also end the process with a stack
// trace.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

// The first process of a container has no default for signals: "docker stop" would wait and then kill it. Commands that
// have a listener for the signal end by themselves.
if (process.pid === 1)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
    })

run(process.argv.slice(2)).then(
  (exitCode) => {
    process.exitCode = exitCode
  },
  (error: unknown) => {
    process.exitCode = reportFailure(error, false)
  },
)
