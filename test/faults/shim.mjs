// The child's side of fault_shim.c: sets the next fault, and reads which have occurred.
import { openSync, readSync, writeSync } from 'node:fs'

export const CALLS = [
  'none',
  'fdatasync',
  'fsync',
  'spare fsync',
  'folder sync',
  'msync',
  'pwrite',
  'direct write',
  'fallocate',
  'spare fallocate',
  'rename',
  'unlink',
  'ftruncate',
  'populate',
  'confirmation',
  'folder confirmation',
  'open',
  'read',
  'syncfs',
  'writeback',
]
const WORDS = 6 + CALLS.length

const fd = openSync(process.env.DURLOG_FAULT_CONTROL, 'r+')

/** From now on, `times` calls from the `nth` on fail with `errno`. The count restarts at 0. */
export function arm({ call, errno, nth = 1, times = 1, partial = false }) {
  const words = new Uint32Array(WORDS)
  words.set([CALLS.indexOf(call), errno, nth, times, partial ? 1 : 0])
  writeSync(fd, words, 0, words.byteLength, 0)
}

export function disarm() {
  arm({ call: 'none', errno: 0 })
}

/** How many calls failed since `arm`. */
export function fired() {
  const words = new Uint32Array(WORDS)
  readSync(fd, words, 0, words.byteLength, 0)
  return words[5]
}

export const CONTROL_BYTES = WORDS * 4
