/** The options of commands that append, and their conversion to options of `open`. */
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
  /** An option of `append` only. */
  salvage?: boolean
  create: boolean
}

/** Adds the options of commands that append. */
export function addWriterOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-d, --durability <level>', 'the durability level of each record')
        .choices(LEVEL_NAMES)
        .default(DEFAULTS.durability),
    )
    .option('--shared', 'share the log with other processes that opened it as shared')
    .option('--wait <duration>', 'wait this long for another writer to close the log', toWaitMs, 0)
    .option('--no-create', 'fail if there is no log')
    .addOption(
      new Option('--segment-bytes <size>', 'size of new segment files')
        .argParser(toBytes)
        .default(DEFAULTS.segmentBytes, '64MiB'),
    )
    .option('--max-record-bytes <size>', 'the longest record to accept (default: 16MiB)', toBytes)
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
    // At least the longest record and its frame.
    ...(maxRecordBytes !== undefined && {
      maxPendingBytes: Math.max(DEFAULTS.maxPendingBytes, maxRecordBytes + SEGMENT_OVERHEAD_BYTES),
    }),
    // `open` refuses flags that cannot be combined.
  } as OpenOptions
}

/**
 * Returns the longest record that a log with these options accepts. Throws ERR_DURLOG_INVALID_ARGUMENT, like `open`.
 */
export function longestRecord(flags: WriterFlags): number {
  return resolveOptions(toOpenOptions(flags)).native.maxRecordBytes
}
