/** The options of the transport and of the destination. */
import { DurlogError } from '../errors.js'
import type { Durability, Log, OpenOptions } from '../index.js'
import { open } from '../index.js'

export type PinoLogOptions = OpenOptions & {
  /** The log's folder. It is created if necessary, unless `create` is false. */
  dir: string
  /**
   * The level to which every line is brought in the background. A line is at `memory` once it is written. Default
   * `memory`.
   */
  durability?: Durability | undefined
}

/** The options that pino adds to those of each transport. */
const OF_PINO: readonly string[] = ['$context', 'pinoWillSendConfig', 'levels', 'dedupe']

export async function openLog(options: PinoLogOptions): Promise<{ log: Log; durability: Durability }> {
  if (typeof options?.dir !== 'string')
    throw new DurlogError(
      'ERR_DURLOG_INVALID_ARGUMENT',
      `dir must be the folder of the log, a string; got ${typeof options?.dir}`,
    )
  const own = Object.entries(options).filter(([name]) => name !== 'dir' && !OF_PINO.includes(name))
  const { durability = 'memory', ...rest } = Object.fromEntries(own) as OpenOptions
  return { log: await open(options.dir, { ...rest, durability }), durability }
}
