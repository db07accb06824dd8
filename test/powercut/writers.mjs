// The seam: who is tried. A writer is a workload command and a verifier command (README.md has what they are told and
// what they answer), and the broken versions of itself that the rig must catch.
import { join } from 'node:path'
import { shim } from './build.mjs'
import { combinationOfSeed } from './durlog/combinations.mjs'

const node = (script) => `'${process.execPath}' '${join(import.meta.dirname, 'durlog', script)}'`
const durlog = { workload: node('workload.mjs'), verifier: node('verifier.mjs') }
const breaking = (what, command) => `DURLOG_BREAK=${what} LD_PRELOAD='${shim}' ${command}`
const brokenWorkload = (what) => ({ ...durlog, workload: breaking(what, durlog.workload) })
const consumer = { workload: `${node('workload.mjs')} consumer/life.mjs`, verifier: node('consumer/verifier.mjs') }
const shared = { workload: node('shared/workload.mjs'), verifier: node('shared/verifier.mjs') }

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
  // A log whose retention waits for its cursors, and a destination that it is shipped to.
  consumer: {
    ...consumer,
    describe(seed) {
      const { strategy, preallocate } = combinationOfSeed(seed)
      return `${strategy} on ${preallocate}`
    },
    broken: { 'ack-before-sync': { ...consumer, workload: breaking('ack-before-sync', consumer.workload) } },
  },
  // Several processes at a time. Btrfs refuses them: a store to a map of it can fail.
  shared: {
    ...shared,
    fileSystems: ['ext4', 'xfs'],
    broken: {
      'ack-before-sync': { ...shared, workload: breaking('ack-before-sync', shared.workload) },
      'no-directory-sync': { ...shared, workload: breaking('no-directory-sync', shared.workload) },
      'no-invalidation': { ...shared, verifier: breaking('no-invalidation', shared.verifier) },
      // Of several writers one does not sync when it is its turn to sync for all; or does not wait for who does.
      'one-syncs-nothing': { ...shared, workload: `POWERCUT_LIAR='${shim}' ${shared.workload}` },
      'ack-without-leader': { ...shared, workload: `POWERCUT_IMPATIENT=1 ${shared.workload}` },
    },
  },
}
