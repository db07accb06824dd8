/** The options of commands that append, and the options of `open` made of them. */
import { type Command, Option } from 'commander'
import { LEVEL_NAMES } from '../native/levels.js'
import {
  DEFAULTS,
  PREALLOCATIONS,
  resolveOptions,
  SEGMENT_OVERHEAD_BYTES,
  STRATEGIES,
} from '../options/open-options.js'
import type { Durability, OpenOptions, Preallocation, Strategy } from '../types.js'
import { toBytes, toWaitMs } from './arguments.js'

export interface WriterFlags {
  durability: Durability
  strategy: Strategy
  preallocate: Preallocation
  segmentBytes: number
  maxRecordBytes?: number
  wait: number
  shared?: boolean
  /** Of `append` alone. */
  salvage?: boolean
  create: boolean
}

/** Adds the options of commands that append. */
export function addWriterOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-d, --durability <level>', 'how safe each record must be')
        .choices(LEVEL_NAMES)
        .default(DEFAULTS.durability),
    )
    .option('--shared', 'append while other processes that opened the log as shared append to it')
    .option('--wait <ms>', 'wait this long for another writer to close the log', toWaitMs, 0)
    .option('--no-create', 'fail if there is no log yet')
    .addOption(
      new Option('--segment-bytes <bytes>', 'size of new segment files')
        .argParser(toBytes)
        .default(DEFAULTS.segmentBytes, '64MiB'),
    )
    .option('--max-record-bytes <bytes>', 'the longest record to accept (default: 16MiB)', toBytes)
    .addOption(new Option('--strategy <name>', 'how bytes reach the file').choices(STRATEGIES).default('auto'))
    .addOption(
      new Option('--preallocate <name>', 'how space for a segment is reserved').choices(PREALLOCATIONS).default('auto'),
    )
}

export function toOpenOptions(flags: WriterFlags): OpenOptions {
  const { durability, strategy, preallocate, segmentBytes, maxRecordBytes, wait, shared, salvage, create } = flags
  return {
    durability,
    strategy,
    preallocate,
    segmentBytes,
    maxRecordBytes,
    create,
    shared,
    recovery: salvage ? 'salvage' : 'strict',
    waitMs: wait,
    // Room for the longest record and its frame.
    ...(maxRecordBytes !== undefined && {
      maxPendingBytes: Math.max(DEFAULTS.maxPendingBytes, maxRecordBytes + SEGMENT_OVERHEAD_BYTES),
    }),
  }
}

/** The longest record that a log opened so takes. Throws ERR_DURLOG_INVALID_ARGUMENT, as `open` would. */
export function longestRecord(flags: WriterFlags): number {
  return resolveOptions(toOpenOptions(flags)).native.maxRecordBytes
}
