// tsc writes files without the executable bit; the command needs it when it is run from a checkout.
import { chmodSync } from 'node:fs'

chmodSync(new URL('../dist/cli/main.js', import.meta.url), 0o755)
