/**
 * The check of the header Host. A web page whose name is rebound to an address of the server has, for its browser, the
 * same origin as the server. Its requests have that name as Host.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { shown } from '../options/checks.js'
import { HttpError } from './http-error.js'

const HOST = /^(?:\[([\da-f:.]+)\]|([\w.-]+?)\.?)(?::\d*)?$/i

/**
 * Whether `host`, with or without a port, is an IP address, localhost, a name under it, or one of `hosts`, which are in
 * lower case. True if `hosts` is undefined.
 */
export function isAllowedHost(host: string, hosts: readonly string[] | undefined): boolean {
  if (hosts === undefined) return true
  const [, ipv6, given] = HOST.exec(host) ?? []
  if (given === undefined) return ipv6 !== undefined && isIPv6(ipv6)
  const name = given.toLowerCase()
  return isIPv4(name) || name === 'localhost' || name.endsWith('.localhost') || hosts.includes(name)
}

/** Throws an HttpError with status 403 if `host` is not allowed. */
export function checkHost(host: string, hosts: readonly string[] | undefined): void {
  if (!isAllowedHost(host, hosts))
    throw new HttpError(
      403,
      'unknown-host',
      `the Host ${shown(host)} is not an IP address, localhost or an allowed name: allow it with --allow-host (option hosts), or use --token-file (option authorize)`,
    )
}
