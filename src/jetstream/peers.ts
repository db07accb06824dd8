/** Loads the packages of the NATS client, which are optional peer dependencies. */
import { DurlogError } from '../errors.js'

type Transport = typeof import('@nats-io/transport-node')
type JetStream = typeof import('@nats-io/jetstream')

/** Rejects with ERR_DURLOG_UNSUPPORTED if the packages are not installed. */
export async function loadPeers(): Promise<{ transport: Transport; jetStream: JetStream }> {
  try {
    return { transport: await import('@nats-io/transport-node'), jetStream: await import('@nats-io/jetstream') }
  } catch (cause) {
    throw new DurlogError(
      'ERR_DURLOG_UNSUPPORTED',
      `durlog/jetstream needs the NATS client: npm install @nats-io/jetstream @nats-io/transport-node (${(cause as Error).message.split('\n', 1)[0]})`,
      { cause },
    )
  }
}
