import type { AddressInfo, Server } from 'node:net'

/** Makes `server` listen, and returns its URL. Rejects with the error of `listen`. */
export async function listen(
  server: Server,
  { host, port, tls }: { host: string; port: number; tls?: object | undefined },
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    // Later errors of the server are those of single connections, for example if the process has no free descriptors.
    server.on('error', reject)
    server.listen(port, host, resolve)
  })
  const bound = server.address() as AddressInfo
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return `${tls === undefined ? 'http' : 'https'}://${name}:${bound.port}`
}
