/** The handle of one stream, for a process that shares the folder. */

import { codecOf, type EncodedValue } from '../encoding.js'
import { FolderFiles } from '../folder-files.js'
import {
  checkReadOptions,
  checkValues,
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
import { SubmitOp, sentValue } from './messages.js'

export interface RemoteContext {
  dir: string
  link: Link
  /** Of the folder. */
  encoding(): StreamEncoding
}

export class RemoteStream<V> implements Stream<V> {
  readonly name: string
  readonly #context: RemoteContext

  /** `name` has been checked. */
  constructor(context: RemoteContext, name: string) {
    this.#context = context
    this.name = name
  }

  async create(options?: StreamCreateOptions<V>): Promise<boolean> {
    const { values } = resolveCreateOptions(options, this.#context.encoding())
    const { values: _, expiresAt, ...rest } = options ?? {}
    const given = { ...rest, ...(expiresAt !== undefined && { expiresAt: Number(expiresAt) }) }
    return !(await this.#submit(SubmitOp.create, values, given)).duplicate
  }

  async append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    if (options !== undefined) resolveAppendOptions(options)
    return this.#submit(SubmitOp.append, [value], options)
  }

  async appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult> {
    checkValues(values)
    resolveAppendOptions(options)
    return this.#submit(SubmitOp.appendAll, values, options)
  }

  async *read(options?: StreamReadOptions): AsyncGenerator<StreamRecord<V>, void, undefined> {
    const { from, follow = false, signal } = checkReadOptions(options ?? {})
    const { link } = this.#context
    for await (const record of link.read({ kind: 'stream', stream: this.name, from, follow }).records(signal)) {
      const { seq, timestamp, position } = record
      yield { seq, value: this.#value(seq, record.value), timestamp, position }
    }
  }

  async end(options?: StreamEndOptions): Promise<void> {
    resolveEndOptions(options)
    await this.#submit(SubmitOp.end, [], options)
  }

  async delete(): Promise<boolean> {
    return !(await this.#submit(SubmitOp.delete, [])).duplicate
  }

  async info(): Promise<StreamInfo | undefined> {
    const info = await this.#context.link.call({ op: 'info', stream: this.name })
    return info === undefined ? undefined : receivedInfo(info)
  }

  async #submit(op: SubmitOp, values: readonly unknown[], options?: object): Promise<StreamAppendResult> {
    const [result] = await this.#context.link.submit(op, this.name, values.map(sentValue), options)
    return result as StreamAppendResult
  }

  #value(seq: number, value: EncodedValue): V {
    try {
      return receivedValue<V>(value)
    } catch {
      const path = new FolderFiles(this.#context.dir).records(this.name, codecOf('json'))
      throw changedFile(this.name, path, seq, 'the record is damaged')
    }
  }
}

/** JSON leaves out what is undefined. */
export function receivedInfo(info: unknown): StreamInfo {
  return { ttlMs: undefined, expiresAt: undefined, fork: undefined, ...(info as Partial<StreamInfo>) } as StreamInfo
}

export function receivedValue<V>({ isJson, data }: EncodedValue): V {
  return codecOf(isJson ? 'json' : 'bytes').decode(data) as V
}
