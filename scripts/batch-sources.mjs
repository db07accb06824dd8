// For binding.gyp: the sources in the arguments as batches, one path a line.
import { argv } from 'node:process'
import { inBatches } from './batches.mjs'

for (const { source } of inBatches(argv.slice(2).map((path) => ({ source: path, flags: [] })))) console.log(source)
