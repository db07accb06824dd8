import { expect, test } from 'vitest'
import { parseMountLine } from '../../src/terminal/storage.js'

test('a line of mountinfo gives the mount, its escaped spaces undone and its options once each', () => {
  const line = '36 35 98:0 /sub /mnt/my\\040disk rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue'
  expect(parseMountLine(line)).toEqual({
    point: '/mnt/my disk',
    fileSystem: 'ext4',
    device: '/dev/sda1',
    options: 'rw,noatime,errors=continue',
    deviceNumber: '98:0',
  })
  expect(parseMountLine('nonsense')).toBeUndefined()
})
