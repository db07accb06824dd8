import { expect, test } from 'vitest'
import { toRecovery } from '../src/log/writer-log.js'

const CLEAN = {
  state: 'clean',
  scannedFrom: 12,
  scannedBytes: 4096,
  discardedBytes: 0,
  discardedRecords: 0,
  segment: '',
  offset: -1,
  lostFirst: 0,
  lostLast: -1,
} as const

test('a clean log has neither damage nor loss', () => {
  expect(toRecovery(CLEAN)).toEqual({
    state: 'clean',
    scannedFrom: 12,
    scannedBytes: 4096,
    discardedBytes: 0,
    discardedRecords: 0,
  })
})

test('damage is reported by file and offset, a loss by its seqs', () => {
  const found = { ...CLEAN, state: 'corrupt', segment: 's', offset: 4096, lostFirst: 3, lostLast: 5 } as const
  expect(toRecovery(found)).toMatchObject({ damage: { segment: 's', offset: 4096 }, lost: { first: 3, last: 5 } })
  expect(toRecovery({ ...found, lostFirst: 0, lostLast: -1 })).not.toHaveProperty('lost')
})
