/** The handle of one stream. */
import { atCaller } from '../../caller-stack.js'
import { abortable, resolveWait } from '../../options/abort-signal.js'
import { BatchReader } from '../../reader/batch-reader.js'
import type { RecordReader, WaitOptions } from '../../types.js'
import {
  type EncodedValue,
  encodeAll,
  encodeForAny,
  NO_VALUES,
  type SentValues,
  valuesInJson,
} from '../port/encoding.js'
import {
  checkValues,
  resolveAppendOptions,
  resolveCreateOptions,
  resolveEndOptions,
  resolveReadOptions,
} from '../port/options.js'
import type { AppendConditions, Settle, StreamsPort } from '../port/port.js'
import type {
  Stream,
  StreamAppendOptions,
  StreamAppendResult,
  StreamCreateOptions,
  StreamEndOptions,
  StreamInfo,
  StreamReadOptions,
  StreamRecord,
} from '../port/types.js'

function encodeChecked(values: readonly unknown[]): SentValues {
  checkValues(values)
  return encodeAll(values)
}

let lastResolve: Settle<StreamAppendResult>
/** One executor for all promises, because a closure for each promise would take more time. */
function capture(resolve: Settle<StreamAppendResult>): void {
  lastResolve = resolve
}

export class NamedStream<V> implements Stream<V> {
  readonly name: string
  readonly #port: StreamsPort

  /** `name` must have been checked. */
  constructor(port: StreamsPort, name: string) {
    this.#port = port
    this.name = name
  }

  async create(options?: StreamCreateOptions<V>): Promise<boolean> {
    const { values, signal, ...request } = resolveCreateOptions(options, this.#port.encoding)
    const encoded = encodeAll(values)
    return await atCaller(abortable(signal, () => this.#port.create(this.name, request, encoded)))
  }

  append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    return this.#append(encodeForAny, value, options)
  }

  appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult> {
    return this.#append(encodeChecked, values, options)
  }

  appendJson(text: string | Uint8Array, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    return this.#append(valuesInJson, text, options)
  }

  /** Not an async function, which would take more time. */
  #append<T>(
    encode: (given: T) => SentValues,
    given: T,
    options: StreamAppendOptions | undefined,
  ): Promise<StreamAppendResult> {
    try {
      const values = encode(given)
      const conditions = resolveAppendOptions(options)
      if (conditions.signal === undefined) return this.#send(values, conditions)
      return abortable(conditions.signal, () => this.#send(values, conditions))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #send(values: SentValues, conditions: AppendConditions): Promise<StreamAppendResult> {
    const promise = new Promise<StreamAppendResult>(capture)
    this.#port.append({ stream: this.name, created: undefined, values, conditions }, lastResolve)
    return promise
  }

  read(options?: StreamReadOptions): RecordReader<StreamRecord<V>> {
    return this.#read<V>(false, options)
  }

  /** Like `read`, but delivers the values as they are stored; a line of JSON may begin and end with white space. */
  readStored(options?: StreamReadOptions): RecordReader<StreamRecord<EncodedValue>> {
    return this.#read<EncodedValue>(true, options)
  }

  #read<T>(stored: boolean, options: StreamReadOptions | undefined): RecordReader<StreamRecord<T>> {
    const { range, signal } = resolveReadOptions(options)
    const read = (stop: AbortSignal) => this.#port.readStream(this.name, range, stored, stop)
    return new BatchReader(read, signal) as BatchReader<StreamRecord<T>>
  }

  async end(options?: StreamEndOptions): Promise<void> {
    const { signal, ...conditions } = resolveEndOptions(options)
    await abortable(signal, () => this.#send(NO_VALUES, conditions))
  }

  async delete(options?: WaitOptions): Promise<boolean> {
    return await atCaller(abortable(resolveWait('delete', options), () => this.#port.delete(this.name)))
  }

  async info(options?: WaitOptions): Promise<StreamInfo | undefined> {
    return await atCaller(abortable(resolveWait('info', options), () => this.#port.info(this.name)))
  }
}
