import { copyFile, open } from 'node:fs/promises'
import type { ReadFile } from './read-file.js'

/** Copies a file and syncs the bytes of the copy. The name of the copy is durable after the next sync of its folder. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  const copy = await open(to, 'r+')
  try {
    await copy.sync()
  } finally {
    await copy.close()
  }
}

/** Reads the bytes from offset `from` to offset `to`, or fewer if the file ends before `to`. */
export async function readRange(file: Pick<ReadFile, 'read'>, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(to - from)
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}
