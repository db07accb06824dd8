import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { describeMachine, machineFields } from '../../bench/harness/machine.js'

test('the machine is named with its kernel and processor', () => {
  const machine = describeMachine(tmpdir())
  expect(machine.cores).toBeGreaterThan(0)
  expect(machineFields(machine).map(([name]) => name)).toContain('processor')
  // In a chroot, the list of mounts may not have the one that holds the folder.
  if (machine.mount !== undefined) expect(machine.mount.fileSystem).toMatch(/\w/)
})
