// Removes dist/ before a build: the output of a moved or deleted file would be tested, and published.
import { rmSync } from 'node:fs'

for (const folder of ['dist', 'bench/dist']) rmSync(folder, { recursive: true, force: true })
