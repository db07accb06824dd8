// Lets Node run the vitest files as they are: `vitest` is the small one beside this file, the package's
// sources are what `npm run build:ts` made of them, and modules of tests and of the bench are TypeScript that Node strips.
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
