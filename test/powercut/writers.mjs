// The seam: who is tried. A writer is a workload command and a verifier command (README.md has what they are told and
// what they answer), and the broken versions of itself that the rig must catch.
import { join } from 'node:path'
import { binFolder } from './build.mjs'

const standin = join(binFolder, 'standin')

function standinPair(workloadBreak, verifierBreak) {
  return { workload: `${standin} workload ${workloadBreak}`, verifier: `${standin} verify ${verifierBreak}` }
}

export const writers = {
  standin: {
    ...standinPair('nothing', 'nothing'),
    broken: {
      'ack-before-sync': standinPair('ack-before-sync', 'nothing'),
      'no-directory-sync': standinPair('no-directory-sync', 'nothing'),
      'no-invalidation': standinPair('nothing', 'no-invalidation'),
    },
  },
}
