// A local npm registry for a package manager that cannot install a tarball from a path. It serves one tarball,
// redirects all other requests to the registry that npm is configured with, and prints its address.
//
//   node registry.mjs <tarball> <manifest> <other registry>
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { argv } from 'node:process'

const [tarball, manifestFile, elsewhere] = argv.slice(2)
const bytes = readFileSync(tarball)
const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'))
const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`

function packument(origin) {
  const { name, version } = manifest
  const dist = { tarball: `${origin}/tarball`, integrity }
  return JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } })
}

const server = createServer(({ url, headers }, response) => {
  if (url === '/tarball') response.end(bytes)
  else if (url === `/${manifest.name}`) response.end(packument(`http://${headers.host}`))
  else response.writeHead(302, { location: new URL(url.slice(1), elsewhere).href }).end()
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
