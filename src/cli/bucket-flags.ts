/**
 * The options of `archive`, `restore` and `doctor` for access to a bucket. Secrets are no options: other users can see
 * the arguments of a process.
 */
import type { Command } from 'commander'
import type { BucketAccess } from '../archive/index.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { sharedCredentials } from './shared-credentials.js'

export interface BucketFlags {
  endpoint?: string
  region?: string
}

export const BUCKET_HELP = `
The environment variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
AWS_SESSION_TOKEN hold the credentials for a bucket. Without them, the profile
AWS_PROFILE of ~/.aws/credentials and ~/.aws/config is read for each request;
its credential_process runs again before its credentials expire.
AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and AWS_REGION are the defaults of the
options.`

export function addBucket(command: Command): Command {
  return command
    .option('--endpoint <url>', 'the URL of the S3-compatible store (default: AWS)')
    .option('--region <name>', 'the region of the bucket (default: us-east-1)')
    .addHelpText('after', BUCKET_HELP)
}

export function isBucket(text: string | undefined): text is `s3://${string}` {
  return text?.startsWith('s3://') === true
}

export function toBucketAccess(bucket: string, { endpoint, region }: BucketFlags): BucketAccess {
  const credentials = sharedCredentials()
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env
  if (credentials === undefined && !(AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY))
    throw new InputError(
      'credentials are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a profile into ~/.aws/credentials',
      ExitCode.usage,
    )
  return { bucket, endpoint, region, credentials }
}
