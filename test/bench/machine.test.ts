import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { describeMachine, machineFields } from '../../bench/harness/machine.js'

test('the machine is named with its kernel and processor', () => {
  const machine = describeMachine(tmpdir())
  expect(machine.cores).toBeGreaterThan(0)
  expect(machineFields(machine).map(([name]) => name)).toContain('processor')
  if (process.platform === 'linux') expect(machine.mount?.fileSystem).toMatch(/\w/)
})
