/** Checks the certificate of a server and its key. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { invalidArgument } from '../errors.js'
import { bag } from '../options/checks.js'
import type { TlsOptions } from './types.js'

/**
 * Returns `tls` if a server can use it. Otherwise throws ERR_DURLOG_INVALID_ARGUMENT. `names` are the names of the two
 * in the message.
 */
export function checkTls(tls: unknown, names = { cert: 'tls.cert', key: 'tls.key' }): TlsOptions {
  const { cert, key } = bag('tls', tls, ['cert', 'key']) as unknown as TlsOptions
  const certificate = attempt(() => new X509Certificate(cert), `${names.cert} must be a certificate in PEM`)
  const isEncrypted = /^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(String(key))
  if (isEncrypted) throw invalidArgument(`${names.key} is encrypted: decrypt it, for example with "openssl pkey"`)
  const privateKey = attempt(() => createPrivateKey(key), `${names.key} must be a private key in PEM`)
  if (!certificate.checkPrivateKey(privateKey))
    throw invalidArgument(`${names.key} is not the key of the certificate ${names.cert}`)
  attempt(() => createSecureContext({ cert, key }), `${names.cert} and ${names.key} cannot be used`)
  return { cert, key }
}

function attempt<T>(make: () => T, otherwise: string): T {
  try {
    return make()
  } catch (error) {
    throw invalidArgument(`${otherwise}: ${(error as Error).message}`)
  }
}
