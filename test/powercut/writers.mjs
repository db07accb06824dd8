// The seam: the writers under trial. A writer consists of a workload command and a verifier command (README.md
// describes their input and output), and of broken versions of itself that the rig must catch.
import { join } from 'node:path'
import { shim } from './build.mjs'
import { combinationOfSeed, hasGrowingSegments } from './durlog/combinations.mjs'

const node = (script) => `'${process.execPath}' '${join(import.meta.dirname, 'durlog', script)}'`
const durlog = { workload: node('workload.mjs'), verifier: node('verifier.mjs') }
const breaking = (what, command) => `DURLOG_BREAK=${what} LD_PRELOAD='${shim}' ${command}`
const brokenWorkload = (what) => ({ ...durlog, workload: breaking(what, durlog.workload) })
const consumer = { workload: `${node('workload.mjs')} consumer/life.mjs`, verifier: node('consumer/verifier.mjs') }
const streams = { workload: `${node('workload.mjs')} streams/life.mjs`, verifier: node('streams/verifier.mjs') }
const brokenStreams = (what) => ({ ...streams, workload: `POWERCUT_BREAK=${what} ${streams.workload}` })
const archive = { ...durlog, workload: `${durlog.workload} archive/life.mjs` }
const shared = { workload: node('shared/workload.mjs'), verifier: node('shared/verifier.mjs') }

export const writers = {
  durlog: {
    ...durlog,
    // The combination that a seed's recording tries, for the printed line.
    describe(seed) {
      const { strategy, preallocate } = combinationOfSeed(seed)
      return `${strategy} on ${preallocate}${hasGrowingSegments(seed) ? ', growing segments' : ''}`
    },
    broken: {
      'ack-before-sync': brokenWorkload('ack-before-sync'),
      'no-directory-sync': brokenWorkload('no-directory-sync'),
      'no-invalidation': { ...durlog, verifier: breaking('no-invalidation', durlog.verifier) },
    },
  },
  // A log whose retention waits for its cursors, and a destination to which it is shipped.
  consumer: {
    ...consumer,
    describe(seed) {
      const { strategy, preallocate } = combinationOfSeed(seed)
      return `${strategy} on ${preallocate}`
    },
    broken: {
      'ack-before-sync': { ...consumer, workload: breaking('ack-before-sync', consumer.workload) },
      'cursors-unsynced': { ...consumer, workload: breaking('cursors-unsynced', consumer.workload) },
    },
  },
  // A folder of streams: its main log, its catalog and the files of the streams.
  streams: {
    ...streams,
    broken: {
      'ack-before-sync': { ...streams, workload: breaking('ack-before-sync', streams.workload) },
      'files-unsynced': brokenStreams('files-unsynced'),
      'catalog-first': brokenStreams('catalog-first'),
      'trim-first': brokenStreams('trim-first'),
    },
  },
  // A log that is archived in a store outside of the disk: only what the store has received must be left.
  archive: {
    ...archive,
    describe(seed) {
      const { strategy, preallocate } = combinationOfSeed(seed)
      return `${strategy} on ${preallocate}`
    },
    broken: { 'ack-before-sync': { ...archive, workload: breaking('ack-before-sync', archive.workload) } },
  },
  // Several processes at the same time. Shared logs refuse Btrfs, where a store to a map can fail.
  shared: {
    ...shared,
    fileSystems: ['ext4', 'xfs'],
    broken: {
      'ack-before-sync': { ...shared, workload: breaking('ack-before-sync', shared.workload) },
      'no-directory-sync': { ...shared, workload: breaking('no-directory-sync', shared.workload) },
      'no-invalidation': { ...shared, verifier: breaking('no-invalidation', shared.verifier) },
      // One of several writers does not sync when it must sync for all, or does not wait for the writer that does.
      'one-syncs-nothing': { ...shared, workload: `POWERCUT_LIAR='${shim}' ${shared.workload}` },
      'ack-without-leader': { ...shared, workload: `POWERCUT_IMPATIENT=1 ${shared.workload}` },
    },
  },
}
