import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url))

export default defineConfig({
  // What the bench imports from the package: tests run the sources and not what was built before.
  resolve: {
    alias: [
      { find: /^durlog$/, replacement: source('index.ts') },
      { find: /^#terminal\/(.*)\.js$/, replacement: source('terminal/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Files share the machine's disk: each test waits for real syncs, none for a fixed time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // What the tests' child processes run is built again if it is older than its sources.
    globalSetup: 'test/fixtures/fresh-build.ts',
  },
})
