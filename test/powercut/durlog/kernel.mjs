// Actions that the kernel, or another program on the same file system, may take at any time while a log is written.
import { spawnSync } from 'node:child_process'
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const KIB = 1024

export function newestSegment(log) {
  const name = readdirSync(log).findLast((entry) => entry.endsWith('.seg'))
  return join(log, name)
}

/** Another file's fsync commits the file system's journal while appends are half-way. */
export function disturb(directory) {
  const [here, there] = ['a', 'b'].map((name) => join(directory, name))
  for (const folder of [here, there]) mkdirSync(folder, { recursive: true })
  const file = openSync(join(here, 'file'), 'w')
  writeSync(file, 'neighbour')
  // Moves the file back and forth: a rename out of a folder in this transaction makes Btrfs commit all of it.
  renameSync(join(here, 'file'), join(there, 'file'))
  renameSync(join(there, 'file'), join(here, 'file'))
  fsyncSync(file)
  closeSync(file)
}

/** The offset after the last nonzero byte of a segment. */
function endOfData(file) {
  const bytes = readFileSync(file)
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) --end
  return end
}

/** Writes back the last `length` bytes of a segment without the earlier ones; `directory` is for disturb(). */
export async function writeBackEnd(segment, length, directory) {
  const range = `${Math.max(0, endOfData(segment) - length)} ${length + 4 * KIB}`
  spawnSync('xfs_io', ['-c', `sync_range -w ${range}`, '-c', `sync_range -a ${range}`, segment])
  // Btrfs adds written data to its trees a little later.
  await new Promise((resolve) => setTimeout(resolve, 20))
  for (let i = 0; i < 3; ++i) disturb(directory)
}
