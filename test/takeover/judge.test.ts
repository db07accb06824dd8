import { expect, test } from 'vitest'
import { judge } from './judge.mjs'

/** The acknowledgement of an attempt to append this number; of the only attempt, with this seq, unless stated. */
const ack = (number: number, begun: number, ended: number, { seq = number, attempt = 1, duplicate = false } = {}) => ({
  stream: 's',
  seq,
  value: `s${number}#${attempt}`,
  duplicate,
  begun,
  ended,
  by: 'a',
})
const HEALTHY = {
  acknowledged: [
    ack(0, 0, 2),
    ack(1, 1, 4),
    ack(1, 2, 4, { attempt: 2, duplicate: true }),
    ack(1, 2, 9, { attempt: 2, seq: -1, duplicate: true }),
    ack(2, 5, 6),
  ],
  final: new Map([['s', ['s0#1', 's1#1', 's2#1']]]),
  log: new Map([
    [0, 'x'],
    [1, 'y'],
  ]),
  replicas: [new Map([[0, 'x']])],
}

test('the judge of takeovers accepts a healthy trial', () => {
  expect(() => judge(HEALTHY)).not.toThrow()
})

test.each([
  ['a lost record', { final: new Map([['s', ['s0#1', 's1#1']]]) }, 'the restored value is undefined'],
  ['a record that is stored twice', { final: new Map([['s', ['s0#1', 's1#1', 's2#1', 's2#1']]]) }, 'seq 3 holds s2#1'],
  ['two records at one seq', { acknowledged: [ack(0, 0, 1), ack(1, 0, 1, { seq: 0 })] }, 'the restored value is s0#1'],
  [
    'an attempt that a former writer acknowledged, if another attempt is stored',
    { acknowledged: [ack(0, 0, 2), ack(1, 1, 9, { attempt: 2 })] },
    's1#2 was acknowledged at seq 1 by a, but the restored value is s1#1',
  ],
  ['an order against real time', { acknowledged: [ack(1, 0, 1), ack(0, 2, 3)] }, 'began after its end'],
  ['a replica with other records', { replicas: [new Map([[1, 'z']])] }, 'record 1 of a replica differs'],
  ['a replica that continues after the end', { replicas: [new Map([[2, 'z']])] }, 'the restored log ends with 1'],
  ['that no replica has a record', { replicas: [new Map()] }, 'no record of a replica was compared'],
])('the judge of takeovers finds %s', (_, change, message) => {
  expect(() => judge({ ...HEALTHY, ...change })).toThrow(message)
})
