/**
 * The losses that an operator has accepted: `verify` lists them, but they are not damage any more. They are in a file
 * of the log's folder.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DurlogError } from './errors.js'
import type { NativeVerifyReport } from './native/inspection.js'
import { ofFileSystem } from './support/file-system-error.js'

export const ACCEPTED_LOSSES = 'accepted-losses'

export type Problem = NativeVerifyReport['problems'][0]

/**
 * Moves the problems that are accepted from `problems` to `accepted`. A log that has no other problems is clean. If the
 * others are all at its end and lose no record, they are a torn tail.
 */
export function withAccepted<R extends NativeVerifyReport>(dir: string, report: R): R & { accepted: Problem[] } {
  const known = readAccepted(dir)
  const accepted = report.problems.filter((problem) => known.has(identityOf(problem)))
  if (accepted.length === 0) return { ...report, accepted }
  const problems = report.problems.filter((problem) => !known.has(identityOf(problem)))
  const newest = report.segments.at(-1)
  const isTail =
    newest?.headerProblem === '' &&
    problems.every(({ segment, lostFirst, lostLast }) => segment === newest.name && lostFirst > lostLast)
  const state = problems.length === 0 ? 'clean' : report.state === 'corrupt' && isTail ? 'torn-tail' : report.state
  return { ...report, state, problems, accepted }
}

function readAccepted(dir: string): Set<string> {
  const path = join(dir, ACCEPTED_LOSSES)
  let text: string
  try {
    text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  } catch (error) {
    throw ofFileSystem(error)
  }
  try {
    const lines = text.split('\n').filter((line) => line !== '')
    return new Set(lines.map((line) => identityOf(JSON.parse(line) as Problem)))
  } catch {
    throw new DurlogError(
      'ERR_DURLOG_CORRUPT',
      `${path}, which lists accepted losses, is damaged: remove it, and accept the losses again with "durlog repair ${dir} --salvage --apply"`,
      { path },
    )
  }
}

/** A place is the same while the same records are lost there. */
function identityOf({ segment, offset, lostFirst, lostLast }: Problem): string {
  return JSON.stringify([segment, offset, lostFirst, lostLast])
}
