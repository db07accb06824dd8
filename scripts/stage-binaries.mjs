// Puts the binaries that were built here where the published package looks for them. Run on each
// system and processor, then publish them together: npm run build && npm run stage:binaries
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { prebuiltName } from '../dist/native.js'

const folder = join('prebuilds', prebuiltName())
mkdirSync(folder, { recursive: true })
for (const name of ['durlog.node', 'durlog_bench.node']) {
  copyFileSync(join('build/Release', name), join(folder, name))
  console.log(join(folder, name))
}
