/**
 * In a worker that is being terminated, Node gives the core no access to its arguments and cannot throw its errors,
 * while JavaScript still runs for a moment. The core then behaves as in this test: its calls do nothing and return
 * undefined.
 */
import { expect, test } from 'vitest'
import { WritePipeline } from '../src/log/append/write-pipeline.js'
import { Counter, type NativeLog } from '../src/native/log.js'
import type { ResolvedOptions } from '../src/options/open-options.js'
import { codeOf } from './fixtures/scratch.js'

/** A log of ten records, all acknowledged at every level, whose core does nothing from now on. */
function pipelineOfDeafCore(): WritePipeline {
  const counters = new Float64Array(Object.keys(Counter).length).fill(10, Counter.nextSeq, Counter.pendingBytes)
  const deaf = () => undefined
  const native = { counters, append: deaf, appendBatch: deaf, write: deaf, writeBatch: deaf, appendSync: deaf }
  const rest = { flushSync: deaf, writeVoid: deaf, pump: deaf, requestSync: deaf, takeEvents: () => [] }
  const options = { shared: false, commitDelayMicros: 0, native: { maxRecordBytes: 1000 } } as ResolvedOptions
  return new WritePipeline('/log', { ...native, ...rest } as unknown as NativeLog, options)
}

const call = { level: 0, timestamp: undefined, expectedSeq: undefined }
const calls: Record<string, (pipeline: WritePipeline) => unknown> = {
  append: (pipeline) => pipeline.append('a record', call, undefined),
  appendBatch: (pipeline) => pipeline.appendBatch(['one', 'two'], call, undefined),
  write: (pipeline) => pipeline.write('a record'),
  writeBatch: (pipeline) => pipeline.writeBatch(['one', 'two']),
  appendSync: (pipeline) => pipeline.appendSync('a record', 0, undefined),
  flushSync: (pipeline) => pipeline.flushSync(0),
}

test.each(Object.keys(calls))('%s acknowledges only work that the core has done', async (name) => {
  const made = (async () => calls[name]?.(pipelineOfDeafCore()))()
  expect(await codeOf(made)).toBe('ERR_DURLOG_CLOSED')
})
