// What a file that has been moved or deleted left behind would be tested, and published.
import { rmSync } from 'node:fs'

for (const folder of ['dist', 'bench/dist']) rmSync(folder, { recursive: true, force: true })
