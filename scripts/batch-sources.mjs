// For binding.gyp: combines the sources in the arguments into batches and prints the path of each file to compile, one
// per line.
import { argv } from 'node:process'
import { batchFiles } from './batches.mjs'

for (const path of batchFiles(argv.slice(2))) console.log(path)
