/** Describes the machine, kernel, disk and file system of a measurement. */
import { statfsSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { type Disk, disksOf, findMount, type Mount } from '#terminal/storage.js'

export interface Machine {
  platform: string
  kernel: string
  cpu: string
  cores: number
  memoryBytes: number
  node: string
  mount: Mount | undefined
  disk: Disk | undefined
  /** The free space of the file system that holds `dir`. */
  freeBytes: number
}

/** Describes the machine, and the file system that holds `dir`. */
export function describeMachine(dir: string): Machine {
  const found = platform() === 'linux' ? findMount(dir) : undefined
  const space = statfsSync(dir)
  const processors = cpus()
  return {
    platform: `${platform()} ${arch()}`,
    kernel: release(),
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    node: process.version,
    mount: found,
    disk: found === undefined ? undefined : disksOf(found)[0],
    freeBytes: space.bavail * space.bsize,
  }
}

const GIB = 2 ** 30

/** Returns the label and the text of each property. */
export function machineFields(machine: Machine): [string, string][] {
  const { mount, disk } = machine
  const fields: [string, string][] = [
    ['system', `${machine.platform}, kernel ${machine.kernel}, Node ${machine.node}`],
    ['processor', `${machine.cpu}, ${machine.cores} cores, ${(machine.memoryBytes / GIB).toFixed(0)} GiB of memory`],
  ]
  if (mount) fields.push(['file system', `${mount.fileSystem} on ${mount.device} (${mount.options})`])
  if (disk) {
    const parts = [
      disk.model || disk.name,
      disk.rotational ? 'reported as rotating' : 'not rotating',
      disk.cache && `cache ${disk.cache}`,
      disk.scheduler && `scheduler ${disk.scheduler}`,
      disk.backingFile && 'a loop device over a file',
    ]
    fields.push(['disk', parts.filter(Boolean).join(', ')])
  }
  return fields
}
