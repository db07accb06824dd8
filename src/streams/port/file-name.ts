/** The name of a stream's file. See docs/FORMAT.md, "Names of files". */
import { createHash } from 'node:crypto'
import { invalidArgument } from '../../errors.js'
import { isUnicode, shown } from '../../options/checks.js'

export const NAME_MAX_BYTES = 1024
/**
 * Longer file names are shortened to CUT_CHARACTERS and a hash, so that a name with its extension has at most the 255
 * bytes that every file system allows.
 */
const ESCAPED_MAX_CHARACTERS = 180
const CUT_CHARACTERS = 110
/** As in the names of the log's segments. */
const SEQ_DIGITS = 20
const PLAIN = /[a-z0-9._-]/
/** For each byte, its form in a file name. */
const ESCAPED = Array.from({ length: 256 }, (_, byte) =>
  PLAIN.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : escapeOf(byte),
)
const DOT = 0x2e
/** Windows reserves these names, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/

/** Throws ERR_DURLOG_INVALID_ARGUMENT if `name` is not Unicode text of 1 to 1024 bytes in UTF-8. */
export function checkStreamName(name: unknown): asserts name is string {
  if (!isStreamName(name))
    throw invalidArgument(
      `a stream's name must be Unicode text of 1 to ${NAME_MAX_BYTES} bytes in UTF-8; got ${shown(name)}`,
    )
}

export function isStreamName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= NAME_MAX_BYTES && isUnicode(name)
}

/**
 * The file name of a stream, without an extension. Different streams have different file names, even if the file system
 * ignores case.
 */
export function fileNameOf(name: string): string {
  const bytes = Buffer.from(name)
  const last = bytes.length - 1
  let escaped = ''
  for (let at = 0; at <= last; at++) {
    const byte = bytes[at] as number
    const isDotAtEdge = byte === DOT && (at === 0 || at === last)
    escaped += isDotAtEdge ? escapeOf(byte) : (ESCAPED[byte] as string)
  }
  if (DEVICE.test(name)) escaped = escapeOf(bytes[0] as number) + escaped.slice(1)
  if (escaped.length <= ESCAPED_MAX_CHARACTERS) return escaped
  return `${escaped.slice(0, CUT_CHARACTERS)}~${createHash('sha256').update(bytes).digest('hex')}`
}

/**
 * The name of the file that begins with the seq `first`, in a stream with several files. No other stream has this file
 * name.
 */
export function fileNameFrom(fileName: string, first: number): string {
  return `${fileName}~${String(first).padStart(SEQ_DIGITS, '0')}`
}

function escapeOf(byte: number): string {
  return `%${byte.toString(16).padStart(2, '0')}`
}
