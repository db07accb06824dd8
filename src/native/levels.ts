/** The core's codes of the durability levels: a higher level includes every lower one. Does not load the addon. */
import type { AppendDurability, Durability } from '../types.js'

export const LEVELS: { readonly memory: 0; readonly async: 1; readonly sync: 2; readonly full: 3 } = {
  memory: 0,
  async: 1,
  sync: 2,
  full: 3,
}
export const LEVEL_NAMES: readonly Durability[] = Object.keys(LEVELS) as Durability[]
/** The levels of an append. */
export const APPEND_LEVELS: readonly AppendDurability[] = [...LEVEL_NAMES, 'replicated']
