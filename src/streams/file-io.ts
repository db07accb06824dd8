/** Reads and copies of files. */
import { copyFile, type FileHandle, open } from 'node:fs/promises'

/** Copies a file; the copy's bytes are on the device, its name once the folder is synced. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  const copy = await open(to, 'r+')
  try {
    await copy.sync()
  } finally {
    await copy.close()
  }
}

/** The bytes from `from` to `to`, fewer if the file ends before. */
export async function readRange(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(to - from)
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}
