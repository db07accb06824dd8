// Every fault with every way to write, and the event that follows it.
import { constants } from 'node:os'

const { EIO, ENOSPC } = constants.errno
const LATE_MS = 120

export const faults = [
  { name: 'write EIO', kind: 'write', errno: EIO, ms: 0 },
  { name: 'write ENOSPC', kind: 'write', errno: ENOSPC, ms: 0 },
  { name: 'write late', kind: 'write', errno: 0, ms: LATE_MS },
  { name: 'flush EIO', kind: 'flush', errno: EIO, ms: 0 },
  { name: 'flush ENOSPC', kind: 'flush', errno: ENOSPC, ms: 0 },
  { name: 'flush late', kind: 'flush', errno: 0, ms: LATE_MS },
]
const strategies = ['auto', 'mmap', 'pwrite', 'direct']
const preallocations = ['auto', 'none', 'zero']
const levels = ['memory+sync', 'sync', 'full']
const afters = ['reopen', 'remount', 'cut']

const ways = strategies.flatMap((strategy) =>
  preallocations
    // The options refuse a map over unallocated blocks.
    .filter((preallocate) => strategy !== 'mmap' || preallocate !== 'none')
    .map((preallocate) => ({ strategy, preallocate })),
)

// A failed data write followed by a reopen in the same mount once lost records: the short form always tries it.
function isInShortForm({ fault, levelNumber, afterNumber, turn }) {
  if (levelNumber !== turn % levels.length) return false
  return afterNumber === (fault.name === 'write EIO' ? 0 : (turn + faults.indexOf(fault)) % afters.length)
}

// The cases in which a durlog that trusts the cache fails on ext4.
function isForBroken({ fault, strategy, after, preallocate }) {
  return fault.name === 'write EIO' && after === 'reopen' && strategy === 'pwrite' && preallocate !== 'zero'
}

/** `full`: all cases; `short`: each fault with each way once, with alternating levels and next events; `broken`. */
export function faultCases(extent, seed) {
  const cases = []
  for (const [f, fault] of faults.entries()) {
    for (const [w, way] of ways.entries()) {
      for (const [levelNumber, level] of levels.entries()) {
        for (const [afterNumber, after] of afters.entries()) {
          const trial = { fault, ...way, level, levelNumber, after, afterNumber, turn: f + w + seed }
          if (extent === 'short' && !isInShortForm(trial)) continue
          if (extent === 'broken' && !isForBroken(trial)) continue
          const number = trial.turn + levelNumber + afterNumber
          const nth = fault.kind === 'write' ? 1 + (number % 4) : 1 + (number % 2)
          cases.push({ ...trial, nth, end: number % 2 === 0 ? 'cut' : 'remount' })
        }
      }
    }
  }
  return cases
}

export function nameOf({ fault, nth, strategy, preallocate, level, after, end }) {
  return `${fault.name} (n = ${nth}), ${strategy} on ${preallocate} at ${level}, ${after}, then ${end}`
}
