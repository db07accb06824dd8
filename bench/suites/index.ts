/** All suites, in the order in which they run. */
import type { Suite } from '../harness/suite.js'
import { append } from './append.js'
import { commit } from './commit.js'
import { http } from './http.js'
import { overwrite } from './overwrite.js'
import { prealloc } from './prealloc.js'
import { read } from './read.js'
import { recovery } from './recovery.js'
import { strategies } from './strategies.js'
import { versus } from './versus.js'
import { wal } from './wal.js'

export const suites: readonly Suite[] = [
  strategies,
  commit,
  append,
  wal,
  overwrite,
  prealloc,
  recovery,
  read,
  http,
  versus,
]

/** The suites of `durlog bench` without arguments. */
export const DEFAULT_SUITES: readonly string[] = ['strategies']
