import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Files share the machine's disk: each test waits for real syncs, none for a fixed time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
})
