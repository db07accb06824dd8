// The seam: who is tried. A writer is a workload command and a verifier command (README.md has what they are told and
// what they answer), and the broken versions of itself that the rig must catch.
import { join } from 'node:path'
import { shim } from './build.mjs'
import { combinationOfSeed } from './durlog/combinations.mjs'

const node = (script) => `'${process.execPath}' '${join(import.meta.dirname, 'durlog', script)}'`
const durlog = { workload: node('workload.mjs'), verifier: node('verifier.mjs') }
const breaking = (what, command) => `DURLOG_BREAK=${what} LD_PRELOAD='${shim}' ${command}`
const brokenWorkload = (what) => ({ ...durlog, workload: breaking(what, durlog.workload) })

export const writers = {
  durlog: {
    ...durlog,
    // What a seed's recording tries, for the printed line.
    describe(seed) {
      const { strategy, preallocate } = combinationOfSeed(seed)
      return `${strategy} on ${preallocate}`
    },
    broken: {
      'ack-before-sync': brokenWorkload('ack-before-sync'),
      'no-directory-sync': brokenWorkload('no-directory-sync'),
      'no-invalidation': { ...durlog, verifier: breaking('no-invalidation', durlog.verifier) },
    },
  },
}
