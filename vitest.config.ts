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
    // Files share the machine's disk and processors: each test waits for real syncs, none for a fixed time. These only end a test
    // that hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    // Rebuilds the files that child processes run if they are older than their sources.
    globalSetup: 'test/fixtures/fresh-build.ts',
  },
})
