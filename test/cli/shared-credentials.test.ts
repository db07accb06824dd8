/** The credentials of the AWS tools, for the commands that use a bucket. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { S3Credentials } from '../../src/archive/index.js'
import { sharedCredentials } from '../../src/cli/shared-credentials.js'
import { scratchDir } from '../fixtures/scratch.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

type Ask = () => Promise<S3Credentials>

/** Files of the AWS tools in a new folder. */
function awsFiles(): { dir: string; credentials: string; config: string } {
  const dir = scratchDir()
  const found = { dir, credentials: join(dir, 'credentials'), config: join(dir, 'config') }
  vi.stubEnv('AWS_ACCESS_KEY_ID', '')
  vi.stubEnv('AWS_PROFILE', undefined)
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', found.credentials)
  vi.stubEnv('AWS_CONFIG_FILE', found.config)
  return found
}

test('the credentials file is read again for each request', async () => {
  const { credentials } = awsFiles()
  expect(sharedCredentials()).toBeUndefined()
  const write = (key: string): void =>
    writeFileSync(
      credentials,
      `[other]\naws_access_key_id=no\n[default]\naws_access_key_id = ${key}\naws_secret_access_key=s\n`,
    )
  write('one')
  const ask = sharedCredentials() as Ask
  expect(await ask()).toEqual({ accessKeyId: 'one', secretAccessKey: 's' })
  write('two')
  expect(await ask()).toEqual({ accessKeyId: 'two', secretAccessKey: 's' })
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key')
  expect(sharedCredentials()).toBeUndefined()
})

test('credential_process of a profile runs once for concurrent requests, and again before its credentials expire', async () => {
  const { dir, config } = awsFiles()
  const [script, runs, lifetime] = ['script.cjs', 'runs', 'lifetime'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(
    script,
    `const { readFileSync, appendFileSync } = require('node:fs')
appendFileSync(${JSON.stringify(runs)}, 'x')
const Expiration = new Date(Date.now() + Number(readFileSync(${JSON.stringify(lifetime)}, 'utf8'))).toISOString()
console.log(JSON.stringify({ Version: 1, AccessKeyId: 'a', SecretAccessKey: 's', SessionToken: 't', Expiration }))`,
  )
  writeFileSync(config, `[profile p]\ncredential_process = "${process.execPath}" "${script}"\n[default]\nregion = x\n`)
  vi.stubEnv('AWS_PROFILE', 'p')
  const ask = sharedCredentials() as Ask
  writeFileSync(lifetime, '1')
  // Rejects if the result has expired when it is parsed.
  await ask().catch(() => {})
  writeFileSync(lifetime, '3600000')
  const credentials = { accessKeyId: 'a', secretAccessKey: 's', sessionToken: 't' }
  await expect.poll(() => Promise.all([ask(), ask()])).toEqual([credentials, credentials])
  await ask()
  expect(readFileSync(runs, 'utf8')).toBe('xx')
})

test('a credential_process that fails rejects, without its output, and runs again', async () => {
  const { credentials } = awsFiles()
  const command = (text: string): void => writeFileSync(credentials, `[default]\ncredential_process = ${text}\n`)
  command('echo secret')
  const ask = sharedCredentials() as Ask
  await expect(ask()).rejects.toThrow('credential_process printed no JSON')
  command(`echo '{"Version":1,"AccessKeyId":"a","SecretAccessKey":"s"}'`)
  if (process.platform !== 'win32') expect(await ask()).toEqual({ accessKeyId: 'a', secretAccessKey: 's' })
})
