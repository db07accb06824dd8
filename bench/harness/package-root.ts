/** The folder of durlog's package.json. It is the same for sources and for built files. */
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

export const PACKAGE_ROOT: string = dirname(createRequire(import.meta.url).resolve('durlog/package.json'))
