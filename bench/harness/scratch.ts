/** Temporary folders for measurements, which are always removed, and the payloads of records. */
import { randomFillSync } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const folders = new Set<string>()
const endings = new Set<() => void>()
let listening = false

/** The signals that end a measurement. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Removes mounts and other objects that depend on a folder, then the folders. */
function cleanUp(): void {
  for (const ending of endings) ending()
  endings.clear()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

function listen(): void {
  if (listening) return
  listening = true
  process.on('exit', cleanUp)
  for (const signal of ENDING_SIGNALS) {
    process.once(signal, () => {
      cleanUp()
      process.kill(process.pid, signal)
    })
  }
}

/** Calls `ending`, which must be synchronous, if the process ends before the returned function is called. */
export function whenEnding(ending: () => void): () => void {
  listen()
  endings.add(ending)
  return () => {
    endings.delete(ending)
  }
}

/** Creates a folder in `parent`, which is created too if it does not exist. */
export async function makeScratch(parent: string): Promise<string> {
  listen()
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(resolve(parent), 'durlog-bench-'))
  folders.add(folder)
  return folder
}

/** Keeps the folder as evidence. */
export function keepScratch(folder: string): void {
  folders.delete(folder)
}

/** Removes the folder, unless it is kept. */
export async function removeScratch(folder: string): Promise<void> {
  if (!folders.has(folder)) return
  await rm(folder, { recursive: true, force: true })
  folders.delete(folder)
}

/** Runs `body` in a folder that is removed afterwards. */
export async function withScratch<T>(parent: string, body: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeScratch(parent)
  try {
    return await body(folder)
  } finally {
    await removeScratch(folder)
  }
}

/** Returns a payload of random bytes, which no file system or drive can compress or deduplicate. */
export function makePayload(bytes: number): Buffer {
  return randomFillSync(Buffer.allocUnsafe(bytes))
}
