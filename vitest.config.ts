import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import './scripts/certificates.mjs'

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url))

/**
 * The files that run in a separate process each: they change the process, replace modules, count its descriptors,
 * threads or bytes, or would end it if they failed. The other files share processes, which saves 0.2 s of processor
 * time for each.
 */
const OWN_PROCESS = [
  'test/archive/{cache,kills,races,restore-kills,stores}.test.ts',
  'test/bench/baselines.test.ts',
  'test/{batch,busy-pool,environments,event-loop,exit,get,heap,lifecycle,limits,live,memory,metrics,misuse}.test.ts',
  'test/{jsdom,package,pino,reader,shared-memory,terminating-worker,truncation}.test.ts',
  'test/cli/{archive,ship-access}.test.ts',
  'test/{electron,fresh-build}.test.ts',
  'test/http/{cluster,conformance*,examples,grace,handshake,hostile,live,page,protocol-model}.test.ts',
  'test/jetstream-{failover,flow-control,restore-folder}.test.ts',
  'test/replication/stall.test.ts',
  'test/{soak,trials}/**/*.test.ts',
  'test/streams/{blocked,long-lines,options,power-cut,processes,reading,replaced,resources,shared-api}.test.ts',
]

export default defineConfig({
  // The bench imports these from the package. Tests run the sources instead of an earlier build.
  resolve: {
    alias: [
      { find: /^durlog$/, replacement: source('index.ts') },
      { find: /^#terminal\/(.*)\.js$/, replacement: source('terminal/$1.ts') },
    ],
  },
  test: {
    // Tests wait for the disk and for child processes more than they compute.
    maxWorkers: availableParallelism() + 2,
    // Files share the machine's disk and processors: each test waits for real syncs, none for a fixed time. These only
    // end a test that hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    // Rebuilds the files that child processes run if they are older than their sources.
    globalSetup: 'test/fixtures/fresh-build.ts',
    projects: [
      { extends: true, test: { name: 'own process', include: OWN_PROCESS } },
      {
        extends: true,
        test: {
          name: 'shared process',
          // `exclude` would replace the files that the command line excludes.
          include: ['test/**/*.test.ts', ...OWN_PROCESS.map((files) => `!${files}`)],
          isolate: false,
          setupFiles: 'test/fixtures/unchanged-process.ts',
        },
      },
    ],
  },
})
