// Each time Node starts, it parses the file that NODE_EXTRA_CA_CERTS names: 48 ms of processor time for the
// certificates of a system, and 20 ms for the rest of the start. Tests start about a thousand processes, and only
// downloads need the certificates. So the import of this file removes the variable from the environment.
import { env } from 'node:process'

if (env.NODE_EXTRA_CA_CERTS) env.DURLOG_DOWNLOAD_CA_CERTS = env.NODE_EXTRA_CA_CERTS
delete env.NODE_EXTRA_CA_CERTS

/** The environment for a Node program that downloads. */
export function downloadEnvironment() {
  return { ...env, NODE_EXTRA_CA_CERTS: env.DURLOG_DOWNLOAD_CA_CERTS ?? '' }
}
