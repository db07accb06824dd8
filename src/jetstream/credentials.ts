/** Reads secrets and certificates from files. They are read at each connection, so that replaced files take effect. */
import { readFileSync } from 'node:fs'
import type { Authenticator, TlsOptions } from '@nats-io/transport-node'
import { refused } from './refusals.js'
import type { NatsTls } from './types.js'

export function readCredentials(
  path: string,
  credentials: typeof import('@nats-io/transport-node').credsAuthenticator,
): Authenticator {
  const authenticate = credentials(readSecret(path))
  return (nonce) => {
    try {
      return authenticate(nonce)
    } catch (cause) {
      throw refused(`${path} holds no credentials: ${(cause as Error).message}`, cause)
    }
  }
}

export function readTls({ caFile, certFile, keyFile, handshakeFirst }: NatsTls): TlsOptions {
  return {
    ...(caFile !== undefined && { ca: readSecret(caFile).toString() }),
    ...(certFile !== undefined && { cert: readSecret(certFile).toString() }),
    ...(keyFile !== undefined && { key: readSecret(keyFile).toString() }),
    ...(handshakeFirst !== undefined && { handshakeFirst }),
  }
}

function readSecret(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw refused(`the file ${path} cannot be read: ${(cause as Error).message}`, cause)
  }
}
