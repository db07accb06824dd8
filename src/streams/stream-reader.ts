/** Iterates over the records of one stream: from its files up to the last checkpoint, then from memory. */
import { DurlogError } from '../errors.js'
import { onAbort } from '../options/abort-signal.js'
import { BatchIterator } from './batch-iterator.js'
import { noSuchStream } from './decide.js'
import type { StreamCodec } from './encoding.js'
import type { FolderFiles } from './folder-files.js'
import { RecordSource, removedStream } from './record-source.js'
import type { StreamState } from './state.js'
import type { StreamTable } from './table.js'
import { TimeSlice } from './time-slice.js'
import type { StreamEncoding, StreamReadOptions, StreamRecord } from './types.js'

export interface ReadContext {
  files: FolderFiles
  /** The encoding of streams that an append creates. */
  encoding: StreamEncoding
  /** Returns the codec that decodes records for readers. */
  codecOf(encoding: StreamEncoding): StreamCodec
  /** The current table. It is replaced when the streams are loaded again. */
  table(): StreamTable
  /** The stream, if callers may see it and it has not expired. */
  find(name: string): StreamState | undefined
  /** Throws ERR_DURLOG_CLOSED if the folder is closed. */
  checkOpen(): void
}

export function readStream<V>(
  context: ReadContext,
  name: string,
  options: StreamReadOptions,
): AsyncGenerator<StreamRecord<V>, void, undefined> {
  return new BatchIterator(batches<V>(context, name, options), options.signal)
}

async function* batches<V>(
  context: ReadContext,
  name: string,
  { from, follow = false, signal }: StreamReadOptions,
): AsyncGenerator<StreamRecord<V>[], void, undefined> {
  const records = new RecordSource<V>(context.files, context.table, context.codecOf)
  let slice = new TimeSlice()
  let next = from
  let created: number | undefined
  const isDeleting = (): boolean => context.table().isDeleting(name)
  /** Without `follow`: the seq before which the iteration finishes. */
  let end = Number.POSITIVE_INFINITY
  try {
    for (;;) {
      // Records in memory are read without a turn of the event loop.
      if (slice.isSpent) await slice.nextTurn()
      signal?.throwIfAborted()
      context.checkOpen()
      const state = context.find(name)
      if (state !== undefined) {
        state.use()
        if (created === undefined) {
          created = state.created
          if (!follow) end = state.visible
        }
        // A negative `from` counts from the end of the stream.
        if (next !== undefined && next < 0) next = Math.max(state.firstSeq, state.visible + next)
        next ??= state.firstSeq
        if (created !== state.created) throw removedStream(name)
        let read: StreamRecord<V>[] = []
        try {
          read = await records.next(state, next)
        } catch (error) {
          if (!isDeleting()) throw error
        }
        const found = read.slice(0, Math.max(end - next, 0))
        next += found.length
        if (found.length > 0) yield found
        signal?.throwIfAborted()
        if (next < Math.min(state.visible, end)) continue
        if (state.endVisible || !follow) return checkStart(state, next)
      } else if (!isDeleting()) {
        if (created !== undefined) throw removedStream(name)
        if (!follow) throw noSuchStream(name)
        if (next !== undefined && next < 0) next = undefined
      }
      // The stream may have changed while the file was read. Nothing is awaited between this check and the wait, so no
      // change is missed.
      const now = context.find(name)
      const unchanged = now === state && (now === undefined || ((next ?? 0) >= now.visible && !now.endVisible))
      if (!unchanged) continue
      await changeOf(context.table(), name, signal)
      slice = new TimeSlice()
    }
  } catch (error) {
    const isFile = (error as DurlogError).code === 'ERR_DURLOG_STREAM_CHANGED'
    throw isFile && context.find(name)?.created !== created ? removedStream(name) : error
  } finally {
    await records.close()
  }
}

/** Throws if the reader's `from` is beyond the last record. */
function checkStart(state: StreamState, next: number): void {
  if (next > state.visible)
    throw new DurlogError(
      'ERR_DURLOG_OUT_OF_RANGE',
      `the stream "${state.name}" has no record ${next} yet (its next seq is ${state.visible}): use follow to wait for it`,
    )
}

/** Settles when something of the stream becomes visible. Rejects with the signal's reason. */
export function changeOf(table: StreamTable, name: string, signal?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const forgetSignal = onAbort(signal, () => {
      forgetChange()
      reject(signal?.reason)
    })
    const forgetChange = table.onChange(name, () => {
      forgetSignal()
      resolve()
    })
  })
}
