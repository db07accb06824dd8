/** The addon's splitter of JSON. */

/** Why a text cannot be split: it is not JSON in UTF-8, it is nested too deeply, or it has too many messages. */
export type NativeJsonRefusal = 'invalid' | 'too deep' | 'too many'

/** The offsets of the begin and the end of each message. */
export type NativeJsonSplit = Uint32Array | NativeJsonRefusal

export interface NativeJson {
  /**
   * Splits `text` into messages: the elements of an array, or its single value; with `elements` false, always its
   * single value. Replaces the line breaks in `text` by spaces. With `onWorker`, works on another thread: the caller
   * must not use `text` meanwhile.
   */
  splitJson(text: Uint8Array, elements: boolean, maxMessages: number, onWorker: false): NativeJsonSplit
  splitJson(text: Uint8Array, elements: boolean, maxMessages: number, onWorker: true): Promise<NativeJsonSplit>
}
