/** scripts/certificates.mjs, which makes the start of a test's process three times as quick. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const MODULE = new URL('../scripts/certificates.mjs', import.meta.url).href

/** The value of NODE_EXTRA_CA_CERTS in a process of tests and in a download, if `given` is its value before. */
function valuesFor(given: string): unknown {
  const code = `const { downloadEnvironment } = await import(${JSON.stringify(MODULE)})
    console.log(JSON.stringify([process.env.NODE_EXTRA_CA_CERTS ?? null, downloadEnvironment().NODE_EXTRA_CA_CERTS]))`
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: given, DURLOG_DOWNLOAD_CA_CERTS: '' }
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, stdio: 'pipe' }).toString(),
  )
}

test('the processes of tests do not parse additional certificates, and downloads do', () => {
  expect(process.env['NODE_EXTRA_CA_CERTS']).toBeUndefined()
  expect(valuesFor('certificates.pem')).toEqual([null, 'certificates.pem'])
  expect(valuesFor('')).toEqual([null, ''])
})
