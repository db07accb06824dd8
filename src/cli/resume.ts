/** Finds how many of a file's lines a log ends with, so that a repeated import continues after them. */
import { createHash } from 'node:crypto'
import type { Log } from '../index.js'
import { type Input, isBlank, type Splitter } from './input.js'

/**
 * Returns the number of lines at the beginning of `input` that are the last records of `log`, in order; the largest
 * such number. Blank lines are not counted. Holds 16 bytes for each line. The algorithm is that of Knuth, Morris and
 * Pratt ("Fast pattern matching in strings", 1977): the log is searched for the lines, and the match in progress at its
 * end is the result.
 */
export async function countStored(log: Log, input: Input, splitter: Splitter): Promise<number> {
  const lines: number[] = []
  const take = (list: readonly Buffer[]): void => {
    for (const line of list) if (!isBlank(line)) lines.push(hashOf(line))
  }
  for await (const chunk of input.chunks) take(splitter.push(chunk as Buffer))
  take(splitter.end())

  /** For each number of matched lines: the next smaller number of lines that is both a beginning and an end of them. */
  const shorter: number[] = [0]
  const extend = (matched: number, hash: number): number => {
    let length = matched
    while (length > 0 && lines[length] !== hash) length = shorter[length - 1] as number
    return lines[length] === hash ? length + 1 : 0
  }
  for (let at = 1; at < lines.length; at++) shorter.push(extend(shorter[at - 1] as number, lines[at] as number))

  let matched = 0
  const from = Math.max(log.firstSeq, log.nextSeq - lines.length)
  for await (const { data } of log.read({ from })) matched = extend(matched, hashOf(data))
  return matched
}

/** The first 48 bits of the SHA-256. */
function hashOf(line: Buffer): number {
  return createHash('sha256').update(line).digest().readUIntBE(0, 6)
}
