/**
 * The check of the header Host. A web page whose name is rebound to an address of the server has, for its browser, the
 * same origin as the server. Its requests have that name as Host.
 */
import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { shown, urlOf } from '../options/checks.js'
import { badRequest, HttpError } from './http-error.js'

const HOST = /^(?:\[([\da-f:.]+)\]|([\w.-]+?)\.?)(?::\d*)?$/i

/** The header Host; several of them joined by a comma, which no host contains. */
export function hostOf({ rawHeaders, headers }: IncomingMessage): string {
  const { host = '' } = headers
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at] as string)) count++
  return count > 1 ? `${host},` : host
}

/** Compares the length first, which excludes most names in less time. */
function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host'
}

/**
 * Whether `origin` is that of a page of the server that clients reach as `host`. The scheme is not compared: a proxy
 * may use another one.
 */
export function isOriginOf(host: string, origin: string): boolean {
  return urlOf(origin)?.host === host.toLowerCase().replace(origin.startsWith('https') ? /:443$/ : /:80$/, '')
}

/**
 * Whether `host`, with or without a port, is an IP address, localhost, a name under it, or one of `hosts`, which are in
 * lower case. True if `hosts` is undefined.
 */
export function isAllowedHost(host: string, hosts: readonly string[] | undefined): boolean {
  if (host.includes(',')) return false
  if (hosts === undefined) return true
  const [, ipv6, given] = HOST.exec(host) ?? []
  if (given === undefined) return ipv6 !== undefined && isIPv6(ipv6)
  const name = given.toLowerCase()
  return isIPv4(name) || name === 'localhost' || name.endsWith('.localhost') || hosts.includes(name)
}

/** Throws an HttpError with status 403 if `host` is not allowed, and with 400 if there are several. */
export function checkHost(host: string, hosts: readonly string[] | undefined): void {
  if (host.includes(',')) throw badRequest('the request has several Host headers, or a malformed one: send one')
  if (!isAllowedHost(host, hosts))
    throw new HttpError(
      403,
      'unknown-host',
      `the Host ${shown(host)} is not an IP address, localhost or an allowed name: allow it with --allow-host (option hosts), or use --token-file (option authorize)`,
    )
}
