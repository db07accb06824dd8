/** Folders to measure in, which are gone afterwards, and the records that go into them. */
import { randomFillSync } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const open = new Set<string>()
let listening = false

/** The signals that end a measurement from outside; what was made is removed before the process dies of them. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function removeAll(): void {
  for (const folder of open) rmSync(folder, { recursive: true, force: true })
  open.clear()
}

function listen(): void {
  if (listening) return
  listening = true
  process.on('exit', removeAll)
  for (const signal of ENDING_SIGNALS) {
    process.once(signal, () => {
      removeAll()
      process.kill(process.pid, signal)
    })
  }
}

/** A fresh folder below `parent`, which is made where there is none. */
export async function makeScratch(parent: string): Promise<string> {
  listen()
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(resolve(parent), 'durlog-bench-'))
  open.add(folder)
  return folder
}

export async function removeScratch(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  open.delete(folder)
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

/** A record that no layer below can compress or leave out. */
export function makePayload(bytes: number): Buffer {
  return randomFillSync(Buffer.allocUnsafe(bytes))
}
