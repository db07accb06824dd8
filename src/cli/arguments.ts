/** Options that several commands share, and how their values are read. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Durability, OpenOptions, Preallocation, Strategy } from '../types.js'

const LEVELS: readonly Durability[] = ['memory', 'async', 'sync', 'full']
const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const PREALLOCATIONS: readonly Preallocation[] = [
  'auto',
  'none',
  'sparse',
  'fallocate',
  'keep-size',
  'zero-range',
  'zero',
  'recycle',
]
const UNITS: Record<string, number> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

export function parseWhole(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

/** A number of bytes, with K, M or G (1024 each) behind it if wanted: 65536, 64K, 64KiB. */
export function parseBytes(text: string): number {
  const match = /^(\d+)\s*([kmg]?)(i?b)?$/i.exec(text)
  if (match === null) throw new InvalidArgumentError('It must be a number of bytes, such as 65536, 64K or 64MiB.')
  return Number(match[1]) * (UNITS[(match[2] ?? '').toLowerCase()] as number)
}

export function addJson(command: Command): Command {
  return command.option('--json', 'write JSON, errors too')
}

export interface WriterFlags {
  durability: Durability
  strategy: Strategy
  preallocate: Preallocation
  segmentBytes: number
  maxRecordBytes?: number
  waitLock: number
  create: boolean
}

/** What commands that append take. */
export function addWriterOptions(command: Command): Command {
  return command
    .addOption(new Option('-d, --durability <level>', 'how safe each record must be').choices(LEVELS).default('sync'))
    .addOption(new Option('--strategy <name>', 'how bytes reach the file').choices(STRATEGIES).default('auto'))
    .addOption(
      new Option('--preallocate <name>', "how a segment's space is taken").choices(PREALLOCATIONS).default('auto'),
    )
    .addOption(
      new Option('--segment-bytes <bytes>', 'size of a segment file')
        .argParser(parseBytes)
        .default(64 * 2 ** 20, '64MiB'),
    )
    .option('--max-record-bytes <bytes>', 'the longest record', parseBytes)
    .option('--wait-lock <ms>', 'how long to wait for another writer', parseWhole, 0)
    .option('--no-create', 'fail where there is no log')
}

export function toOpenOptions(flags: WriterFlags): OpenOptions {
  const { durability, strategy, preallocate, segmentBytes, maxRecordBytes, waitLock, create } = flags
  return {
    durability,
    strategy,
    preallocate,
    segmentBytes,
    maxRecordBytes,
    create,
    lock: { waitMs: waitLock },
    // Room for the longest record and its frame; the default unless that is not enough.
    ...(maxRecordBytes !== undefined && { maxPendingBytes: Math.max(32 * 2 ** 20, maxRecordBytes + 8192) }),
  }
}

/** The longest record that a log opened so takes; mirrors the default of `open`. */
export function longestRecord({ maxRecordBytes, segmentBytes }: WriterFlags): number {
  return maxRecordBytes ?? Math.min(16 * 2 ** 20, segmentBytes - 8192)
}
