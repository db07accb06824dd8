/** The folder that a log is restored into. A file in it says that the restore has not ended. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DurlogError } from '../errors.js'

const NAME = 'restoring'
const MAKING = 'restoring.new'

/** What a restore that goes on has to agree with. */
export interface RestoreMark {
  stream: string
  subject: string
  uuid: string
  /** The first seq that was restored. */
  first: number
}

/** The mark of an earlier restore of this folder that has not ended; undefined for an empty folder, which is made. */
export function enterFolder(dir: string): RestoreMark | undefined {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const names = readdirSync(dir)
  if (names.includes(NAME)) return JSON.parse(readFileSync(join(dir, NAME), 'utf8')) as RestoreMark
  if (names.length === 0 || (names.length === 1 && names[0] === MAKING)) return undefined
  throw new DurlogError('ERR_DURLOG_NOT_EMPTY', `${dir} is not empty: restore into an empty or a new folder`, {
    path: dir,
  })
}

/** On the device before the first record is. */
export function markFolder(dir: string, mark: RestoreMark): void {
  const file = openSync(join(dir, MAKING), 'w', 0o600)
  try {
    writeSync(file, JSON.stringify(mark))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(join(dir, MAKING), join(dir, NAME))
  syncFolder(dir)
}

/** The restore has ended: the folder is a log like any other. */
export function unmarkFolder(dir: string): void {
  rmSync(join(dir, NAME), { force: true })
  syncFolder(dir)
}

function syncFolder(dir: string): void {
  // A folder cannot be opened there.
  if (process.platform === 'win32') return
  const folder = openSync(dir, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
