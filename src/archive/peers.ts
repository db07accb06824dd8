/** Loads the package that signs requests, which is an optional peer dependency. */
import { DurlogError } from '../errors.js'

type Signing = typeof import('aws4fetch')

/** Rejects with ERR_DURLOG_UNSUPPORTED if the package is not installed. */
export async function loadSigning(): Promise<Signing> {
  try {
    return await import('aws4fetch')
  } catch (cause) {
    throw new DurlogError(
      'ERR_DURLOG_UNSUPPORTED',
      `durlog/archive needs the package aws4fetch, which signs requests: npm install aws4fetch (${(cause as Error).message.split('\n', 1)[0]})`,
      { cause },
    )
  }
}
