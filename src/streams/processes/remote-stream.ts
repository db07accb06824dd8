/** The handle of one stream in a process that shares the folder. */

import { dirname } from 'node:path'
import type { DurlogError } from '../../errors.js'
import type { CreationRequest } from '../creation.js'
import { codecOf, type EncodedValue } from '../encoding.js'
import { encodeForAny } from '../items.js'
import {
  checkReadOptions,
  checkValues,
  optionsOf,
  resolveAppendOptions,
  resolveCreateOptions,
  resolveEndOptions,
} from '../options.js'
import { changedFile } from '../stream-file.js'
import type {
  Stream,
  StreamAppendOptions,
  StreamAppendResult,
  StreamCreateOptions,
  StreamEncoding,
  StreamEndOptions,
  StreamInfo,
  StreamReadOptions,
  StreamRecord,
} from '../types.js'
import type { Link } from './link.js'
import { SubmitOp } from './messages.js'

export interface RemoteContext {
  link: Link
  /** The encoding of the folder. */
  encoding(): StreamEncoding
}

export class RemoteStream<V> implements Stream<V> {
  readonly name: string
  readonly #context: RemoteContext

  /** `name` must have been checked. */
  constructor(context: RemoteContext, name: string) {
    this.#context = context
    this.name = name
  }

  async create(options?: StreamCreateOptions<V>): Promise<boolean> {
    const { values, ...creation } = resolveCreateOptions(options, this.#context.encoding())
    const request: CreationRequest = { ...creation, encodingNamed: options?.encoding !== undefined }
    return !(await this.#submit(SubmitOp.create, values, request)).duplicate
  }

  async append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    return this.#submit(SubmitOp.append, [value], optionsOf(resolveAppendOptions(options)))
  }

  async appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult> {
    checkValues(values)
    return this.#submit(SubmitOp.appendAll, values, optionsOf(resolveAppendOptions(options)))
  }

  read(options?: StreamReadOptions): AsyncGenerator<StreamRecord<V>, void, undefined> {
    return this.#read(checkReadOptions(options), receivedValue<V>)
  }

  /** Like `read`, but delivers the values as they are stored; a line of JSON may begin and end with white space. */
  readStored(options?: StreamReadOptions): AsyncGenerator<StreamRecord<EncodedValue>, void, undefined> {
    return this.#read(checkReadOptions(options), (value) => {
      receivedValue(value)
      return value
    })
  }

  async *#read<T>(
    { from, follow = false, signal }: StreamReadOptions,
    decode: (value: EncodedValue) => T,
  ): AsyncGenerator<StreamRecord<T>, void, undefined> {
    const { link } = this.#context
    for await (const record of link.read({ kind: 'stream', stream: this.name, from, follow }).records(signal)) {
      const { seq, timestamp, position } = record
      let value: T
      try {
        value = decode(record.value)
      } catch {
        throw await this.#damaged(seq)
      }
      yield { seq, value, timestamp, position }
    }
  }

  async end(options?: StreamEndOptions): Promise<void> {
    const { producer } = resolveEndOptions(options)
    await this.#submit(SubmitOp.end, [], { producer })
  }

  async delete(): Promise<boolean> {
    return !(await this.#submit(SubmitOp.delete, [])).duplicate
  }

  async info(): Promise<StreamInfo | undefined> {
    const info = await this.#context.link.call({ op: 'info', stream: this.name })
    return info === undefined ? undefined : receivedInfo(info)
  }

  async #submit(op: SubmitOp, values: readonly unknown[], options?: object): Promise<StreamAppendResult> {
    const [result] = await this.#context.link.submit(op, this.name, Array.from(values, encodeForAny), options)
    return result as StreamAppendResult
  }

  async #damaged(seq: number): Promise<DurlogError> {
    const { path = '', retention } = (await this.info()) ?? {}
    // With retention, the record may be in any of several files.
    return changedFile(this.name, retention === undefined ? path : dirname(path), seq, 'the record is damaged')
  }
}

/** Restores the members with the value undefined, which JSON does not have. */
export function receivedInfo(info: unknown): StreamInfo {
  const missing = { ttlMs: undefined, expiresAt: undefined, fork: undefined, retention: undefined }
  return { ...missing, ...(info as Partial<StreamInfo>) } as StreamInfo
}

export function receivedValue<V>({ encoding, data }: EncodedValue): V {
  return codecOf(encoding).decode(data) as V
}
