// For binding.gyp: combines the sources in the arguments into batches and prints the path of each file to compile, one per
// line.
import { argv } from 'node:process'
import { inBatches } from './batches.mjs'

for (const { source } of inBatches(argv.slice(2).map((path) => ({ source: path, flags: [] })))) console.log(source)
