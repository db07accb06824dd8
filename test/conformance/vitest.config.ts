import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { include: ['test/conformance/command.ts'], testTimeout: 60_000 } })
