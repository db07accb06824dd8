/** Folders of streams, on which the commands for a single log must not work. */
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'

/** The folders of the two logs in a folder of streams. */
const LOGS = ['log', 'catalog']

function hasStreams(dir: string): boolean {
  return LOGS.every((name) => existsSync(join(dir, name)))
}

/** Returns `dir`, or the folder of the main log if `dir` is a folder of streams. */
export function logFolder(dir: string): { dir: string; hasStreams: boolean } {
  return hasStreams(dir) ? { dir: join(dir, 'log'), hasStreams: true } : { dir, hasStreams: false }
}

/** Throws if `dir` is a folder of streams, or that of one of its logs. `remedy` completes the message. */
export function refuseStreams(dir: string, remedy: string): void {
  const path = resolve(dir)
  const folder = LOGS.includes(basename(path)) ? dirname(path) : path
  if (hasStreams(folder)) throw new InputError(`${folder} contains streams: ${remedy}`, ExitCode.usage)
}
