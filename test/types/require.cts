// How a CommonJS module sees the package: checked, not run.
import { type Log, open } from 'durlog'

async function main(): Promise<Log> {
  const log = await open('dir')
  const seq: number = await log.append('x')
  void seq
  return log
}

export = main
