/** Memory that several records share: each record is a view of a part of it. */
import { DurlogError } from '../errors.js'

type Guard = (memory: ArrayBufferLike) => void

function refuse(): never {
  throw new DurlogError('ERR_DURLOG_UNSUPPORTED', 'other records share this memory: transfer a copy of the record')
}

/** The methods of an ArrayBuffer, since Node 22, that ignore the mark of `markAsUntransferable`. */
const REFUSED = { transfer: { value: refuse }, transferToFixedLength: { value: refuse } }

let guard: Promise<Guard> | undefined

/** Returns a function that makes memory refuse to be transferred, which would take it from all of its records. */
export function memoryGuard(): Promise<Guard> {
  guard ??= loadGuard()
  return guard
}

/** Takes 0.1 ms, which is most of the time for the next chunk of a stream. */
async function loadGuard(): Promise<Guard> {
  // Loaded at the first read, because loading this module takes longer than loading durlog.
  const { markAsUntransferable } = await import('node:worker_threads')
  return (memory) => {
    markAsUntransferable(memory)
    Object.defineProperties(memory, REFUSED)
  }
}
