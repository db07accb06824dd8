/** Loads the packages of the NATS client, which are optional peer dependencies. */
import { loadOptional } from '../support/optional-package.js'

type Transport = typeof import('@nats-io/transport-node')
type JetStream = typeof import('@nats-io/jetstream')

/** Rejects with ERR_DURLOG_UNSUPPORTED if the packages are not installed. */
export function loadPeers(): Promise<{ transport: Transport; jetStream: JetStream }> {
  const packages = '@nats-io/jetstream @nats-io/transport-node'
  return loadOptional('durlog/jetstream needs the NATS client', packages, async () => ({
    transport: await import('@nats-io/transport-node'),
    jetStream: await import('@nats-io/jetstream'),
  }))
}
