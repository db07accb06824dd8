/** Iterates over the records of one stream: from its file up to the last checkpoint, then from memory. */
import { DurlogError } from '../errors.js'
import { onAbort } from '../options/abort-signal.js'
import { noSuchStream } from './decide.js'
import type { StreamCodec } from './encoding.js'
import type { FolderFiles } from './folder-files.js'
import { RecordSource } from './record-source.js'
import type { StreamState } from './state.js'
import type { StreamTable } from './table.js'
import type { StreamEncoding, StreamReadOptions, StreamRecord } from './types.js'

export interface ReadContext {
  files: FolderFiles
  /** Of streams that an append makes. */
  codec: StreamCodec
  /** What decodes records for readers. */
  codecOf(encoding: StreamEncoding): StreamCodec
  /** The newest one: it is replaced when it is loaded again. */
  table(): StreamTable
  /** A stream that callers may know and that has not expired. */
  find(name: string): StreamState | undefined
  /** Throws once the folder is closed. */
  checkOpen(): void
}

export async function* readStream<V>(
  context: ReadContext,
  name: string,
  { from, follow = false, signal }: StreamReadOptions,
): AsyncGenerator<StreamRecord<V>, void, undefined> {
  const records = new RecordSource<V>(context.files, context.table, context.codecOf)
  let next = from
  let created: number | undefined
  /** Without `follow`: the seq before which it finishes. */
  let end = Number.POSITIVE_INFINITY
  try {
    for (;;) {
      signal?.throwIfAborted()
      context.checkOpen()
      const state = context.find(name)
      if (state !== undefined) {
        state.use()
        if (created === undefined) {
          created = state.created
          if (!follow) end = state.visible
        }
        next ??= state.firstSeq
        if (created !== state.created) throw removedStream(name)
        for (const record of await records.next(state, next)) {
          signal?.throwIfAborted()
          if (next >= end) return
          next++
          yield record
        }
        if (next < Math.min(state.visible, end)) continue
        if (state.endVisible || !follow) return checkStart(state, next)
      } else {
        if (created !== undefined) throw removedStream(name)
        if (!follow) throw noSuchStream(name)
      }
      // It may have changed while the file was read. Nothing is awaited between this look and the wait.
      const now = context.find(name)
      const unchanged = now === state && (now === undefined || ((next ?? 0) >= now.visible && !now.endVisible))
      if (unchanged) await changeOf(context.table(), name, signal)
    }
  } catch (error) {
    const isFile = (error as DurlogError).code === 'ERR_DURLOG_STREAM_CHANGED'
    throw isFile && context.find(name)?.created !== created ? removedStream(name) : error
  } finally {
    await records.close()
  }
}

/** A reader that began after the end of the stream has an error in its `from`. */
function checkStart(state: StreamState, next: number): void {
  if (next > state.visible)
    throw new DurlogError(
      'ERR_DURLOG_OUT_OF_RANGE',
      `the stream "${state.name}" has ${state.visible} records; there is no seq ${next} yet: use follow to wait for it`,
    )
}

function removedStream(name: string): DurlogError {
  return new DurlogError('ERR_DURLOG_NOT_FOUND', `the stream "${name}" was deleted while it was read`)
}

/** Settles when something of the stream becomes visible; rejects with the signal's reason. */
function changeOf(table: StreamTable, name: string, signal: AbortSignal | undefined): Promise<void> {
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
