// Module hooks with which Node runs the vitest files unchanged: `vitest` resolves to vitest.mjs in this folder, and the
// package's sources to the output of `npm run build:ts`. Node strips the types of the tests and of the bench.
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)
const stripped = ['test/', 'bench/'].map((folder) => new URL(folder, root).href)
const sources = new URL('src/', root).href
const built = new URL('dist/', root).href
const vitest = new URL('vitest.mjs', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'vitest') return next(vitest, context)
    const isOfTests = stripped.some((folder) => context.parentURL?.startsWith(folder))
    if (!specifier.startsWith('.') || !isOfTests) return next(specifier, context)
    const url = new URL(specifier, context.parentURL).href
    if (url.startsWith(sources)) return next(built + url.slice(sources.length).replace(/\.ts$/, '.js'), context)
    const typescript = url.replace(/\.js$/, '.ts')
    return next(existsSync(fileURLToPath(typescript)) ? typescript : url, context)
  },
})
