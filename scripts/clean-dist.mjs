// Removes dist/ before a build. Otherwise the output of a source file that was moved or deleted would be published.
import { rmSync } from 'node:fs'

for (const folder of ['dist', 'bench/dist']) rmSync(folder, { recursive: true, force: true })
