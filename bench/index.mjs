#!/usr/bin/env node
// `node bench/index.mjs [suite...] [options]` is `durlog bench`, from the sources' own build.
process.argv.splice(2, 0, 'bench')
await import('../dist/cli/main.js')
