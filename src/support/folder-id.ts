import { stat } from 'node:fs/promises'

/** Identifies the folder at `dir`, which may be a link. A copy of the folder has another id. */
export async function folderIdOf(dir: string): Promise<string> {
  const { dev, ino } = await stat(dir, { bigint: true })
  return `${dev}:${ino}`
}
