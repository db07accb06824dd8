/** The handle of one stream. */
import { atCaller } from '../../caller-stack.js'
import { BatchReader } from '../../reader/batch-reader.js'
import type { RecordReader } from '../../types.js'
import { type EncodedValue, encodeAll, encodeForAny, valuesInJson } from '../port/encoding.js'
import {
  checkValues,
  resolveAppendOptions,
  resolveCreateOptions,
  resolveEndOptions,
  resolveReadOptions,
} from '../port/options.js'
import { makeGroup, type SentValues, type Settle, type StreamsPort } from '../port/port.js'
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
    const { values, ...request } = resolveCreateOptions(options, this.#port.encoding)
    return await atCaller(this.#port.create(this.name, request, encodeAll(values)))
  }

  append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    try {
      return this.#append([encodeForAny(value)], options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult> {
    try {
      checkValues(values)
      return this.#append(encodeAll(values), options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  appendJson(text: string | Uint8Array, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    try {
      return this.#append(valuesInJson(text), options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #append(values: SentValues, options: StreamAppendOptions | undefined): Promise<StreamAppendResult> {
    const group = makeGroup(this.name, values, resolveAppendOptions(options))
    const promise = new Promise<StreamAppendResult>(capture)
    this.#port.append(group, lastResolve)
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
    const group = makeGroup(this.name, [], resolveEndOptions(options))
    await new Promise<StreamAppendResult>((resolve) => this.#port.append(group, resolve))
  }

  async delete(): Promise<boolean> {
    return await atCaller(this.#port.delete(this.name))
  }

  async info(): Promise<StreamInfo | undefined> {
    return await atCaller(this.#port.info(this.name))
  }
}
