/** The result of one check. */
import { isCode } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'

export type Verdict = 'OK' | 'WARN' | 'FAIL' | 'not checked here'

export interface Finding {
  /** The subject of the check, such as "write cache". */
  check: string
  verdict: Verdict
  found: string
  /** The remedy; '' if none is needed. */
  advice: string
}

export function ok(check: string, found: string): Finding {
  return { check, verdict: 'OK', found, advice: '' }
}

export function warn(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'WARN', found, advice }
}

export function fail(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'FAIL', found, advice }
}

/** The finding of a check that is not possible on this system, or after the result of another check. */
export function notChecked(check: string, reason: string): Finding {
  return { check, verdict: 'not checked here', found: reason, advice: '' }
}

/** Returns the finding of `look`. If it throws: a FAIL with the error and, unless the disk is full, `advice`. */
export async function guarded(check: string, advice: string, look: () => Promise<Finding> | Finding): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    const isFull = isCode(ofFileSystem(error), 'ERR_DURLOG_NO_SPACE')
    return fail(check, describeError(error), isFull ? 'make room' : advice)
  }
}

/** Formats an error with its code, unless the message already contains the code. */
export function describeError(error: unknown): string {
  const { code, message = String(error) } = error as NodeJS.ErrnoException
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`
}
