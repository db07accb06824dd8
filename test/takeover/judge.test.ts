import { expect, test } from 'vitest'
import { judge } from './judge.mjs'

/** The acknowledgement of the value with this number; it is stored at its seq unless that is given. */
const ack = (number: number, begun: number, ended: number, seq = number) => ({
  stream: 's',
  seq,
  value: `s${number}`,
  begun,
  ended,
  by: 'a',
})
const HEALTHY = {
  acknowledged: [ack(0, 0, 2), ack(1, 1, 4), ack(2, 5, 6)],
  final: new Map([['s', ['s0', 's1', 's2']]]),
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
  ['a lost record', { final: new Map([['s', ['s0', 's1']]]) }, 'the restored value is undefined'],
  ['a record that is stored twice', { final: new Map([['s', ['s0', 's1', 's2', 's2']]]) }, 'seq 3 holds s2'],
  ['two records at one seq', { acknowledged: [ack(0, 0, 1), ack(1, 0, 1, 0)] }, 'both acknowledged at seq 0'],
  ['an order against real time', { acknowledged: [ack(1, 0, 1), ack(0, 2, 3)] }, 'began after its end'],
  ['a replica with other records', { replicas: [new Map([[1, 'z']])] }, 'record 1 of a replica differs'],
])('the judge of takeovers finds %s', (_, change, message) => {
  expect(() => judge({ ...HEALTHY, ...change })).toThrow(message)
})
