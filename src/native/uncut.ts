import { native } from './native.js'

/**
 * Whether no record below `end` was cut from the log `uuid` in `dir` since it had this generation. Unlike the checksum
 * of a `LogPosition`, this does not show that an older copy of the folder has replaced it.
 */
export async function isUncut(
  dir: string,
  { uuid, generation, end }: { uuid: string; generation: number; end: number },
): Promise<boolean> {
  const cuts = await native.cuts(dir, generation)
  return cuts.uuid === uuid && generation <= cuts.generation && (cuts.lowest === -1 || cuts.lowest >= end)
}
