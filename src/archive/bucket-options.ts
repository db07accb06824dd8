/** The checks and defaults of `BucketAccess`. */
import { invalidArgument } from '../errors.js'
import { isUnicode, shown, shownAddress, whole } from '../options/checks.js'
import type { BucketAccess, S3Credentials } from './types.js'

export const BUCKET_OPTION_NAMES: readonly string[] = [
  'bucket',
  'endpoint',
  'region',
  'credentials',
  'timeoutMs',
] satisfies (keyof BucketAccess)[]

export interface ResolvedBucket {
  name: string
  /** The prefix of the archive's keys: '', or a path that ends with a slash. */
  prefix: string
  /** The URL of the bucket; ends with a slash. */
  url: string
  region: string
  credentials: S3Credentials | (() => S3Credentials | Promise<S3Credentials>)
  timeoutMs: number
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveBucket(given: BucketAccess): ResolvedBucket {
  const { env } = process
  const match = typeof given.bucket === 'string' ? /^s3:\/\/([a-zA-Z0-9._-]+)(?:\/(.*))?$/.exec(given.bucket) : null
  if (match === null)
    throw invalidArgument(`bucket must be s3://bucket or s3://bucket/prefix; got ${shownAddress(given.bucket)}`)
  const name = match[1] as string
  // A URL with such a part names another object or bucket, and a URL cannot hold half of a surrogate pair.
  if (given.bucket.split('/').some((part) => part === '.' || part === '..') || !isUnicode(given.bucket))
    throw invalidArgument(`bucket must not have the part "." or "..", or a lone surrogate; got ${shown(given.bucket)}`)
  const folder = (match[2] ?? '').replace(/\/+$/, '')
  const region = text('region', given.region) ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'us-east-1'
  const endpoint = text('endpoint', given.endpoint) ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL']
  return {
    name,
    prefix: folder === '' ? '' : `${folder}/`,
    url: urlOf(name, endpoint, region),
    region,
    credentials: resolveCredentials(given.credentials),
    timeoutMs: whole('timeoutMs', given.timeoutMs, { min: 1, max: 2 ** 31 - 1, unit: 'milliseconds' }, 30_000),
  }
}

function text(name: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value as string | undefined
  throw invalidArgument(`${name} must be a string; got ${shown(value)}`)
}

/**
 * Returns the URL of the bucket. With an endpoint, the bucket is a part of the path, because every store supports that
 * form.
 */
function urlOf(name: string, endpoint: string | undefined, region: string): string {
  if (endpoint === undefined) {
    // The certificate of AWS does not cover a host name that begins with a bucket name with dots.
    const host = `s3.${region}.amazonaws.com`
    return name.includes('.') ? `https://${host}/${name}/` : `https://${name}.${host}/`
  }
  const url = tryUrl(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw invalidArgument(`endpoint must be a URL that begins with http:// or https://; got ${shownAddress(endpoint)}`)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/${name}/`
}

function tryUrl(value: string): URL | null {
  try {
    return new URL(value)
  } catch {
    return null
  }
}

function resolveCredentials(given: unknown): ResolvedBucket['credentials'] {
  if (typeof given === 'function') return given as () => S3Credentials
  if (given === undefined) return credentialsOfEnvironment()
  const { accessKeyId, secretAccessKey } = Object(given) as Partial<S3Credentials>
  if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return given as S3Credentials
  throw invalidArgument(
    `credentials must be { accessKeyId, secretAccessKey, sessionToken? } or a function that returns it; got ${shown(given)}`,
  )
}

function credentialsOfEnvironment(): S3Credentials {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN } = process.env
  if (!accessKeyId || !secretAccessKey)
    throw invalidArgument(
      'credentials are missing: pass credentials, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    )
  return { accessKeyId, secretAccessKey, ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }) }
}
