/** All suites, in the order they run. */
import type { Suite } from '../suite.js'
import { strategies } from './strategies.js'

export const suites: readonly Suite[] = [strategies]

/** What `durlog bench` measures when it is told nothing. */
export const DEFAULT_SUITES: readonly string[] = ['strategies']
