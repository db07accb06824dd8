import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url))

export default defineConfig({
  // The bench imports these from the package. Tests run the sources instead of an earlier build.
  resolve: {
    alias: [
      { find: /^durlog$/, replacement: source('index.ts') },
      { find: /^#terminal\/(.*)\.js$/, replacement: source('terminal/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Tests wait for the disk and for child processes more than they compute.
    maxWorkers: availableParallelism() + 1,
    // Files share the machine's disk: each test waits for real syncs, none for a fixed time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Rebuilds the files that child processes run if they are older than their sources.
    globalSetup: 'test/fixtures/fresh-build.ts',
  },
})
