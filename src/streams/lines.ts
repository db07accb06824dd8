const NEWLINE = 0x0a
const SPACE = 0x20

/**
 * Yields the complete lines of `bytes`, without spaces around them, each with the offset of its end. A last line
 * without a newline is not included.
 */
export function* completeLines(bytes: Buffer): Generator<{ line: Buffer; end: number }> {
  for (let at = 0; ; ) {
    const newline = bytes.indexOf(NEWLINE, at)
    if (newline === -1) return
    yield { line: withoutSpaces(bytes.subarray(at, newline)), end: newline + 1 }
    at = newline + 1
  }
}

export function withoutSpaces(bytes: Buffer): Buffer {
  let [first, end] = [0, bytes.length]
  while (first < end && bytes[first] === SPACE) first++
  while (end > first && bytes[end - 1] === SPACE) end--
  return bytes.subarray(first, end)
}
