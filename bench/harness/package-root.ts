/** The folder that holds durlog's package.json, the same for sources and for what is built from them. */
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

export const PACKAGE_ROOT: string = dirname(createRequire(import.meta.url).resolve('durlog/package.json'))
