/** Which machine, kernel, disk and file system the figures belong to. */
import { readFileSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'

export interface Mount {
  point: string
  fileSystem: string
  device: string
  options: string
}

export interface Disk {
  /** '' if the system does not report it. */
  name: string
  model: string
  rotational: boolean
  /** "write back" or "write through", as the kernel sees it. */
  cache: string
  scheduler: string
  /** Of a loop device: the file behind it. */
  backingFile: string
}

export interface Machine {
  platform: string
  kernel: string
  cpu: string
  cores: number
  memoryBytes: number
  node: string
  mount: Mount | undefined
  disk: Disk | undefined
  /** Of `dir`'s file system. */
  freeBytes: number
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

/** mountinfo writes spaces and the like as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

interface MountLine extends Mount {
  /** "major:minor". */
  deviceNumber: string
}

/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)); undefined where it is none. */
export function parseMountLine(line: string): MountLine | undefined {
  const [before, after] = line.split(' - ')
  const fields = before?.split(' ') ?? []
  const [fileSystem, device, superOptions] = after?.split(' ') ?? []
  const [, , deviceNumber, , point, mountOptions] = fields
  if (!deviceNumber || !point || !mountOptions || !fileSystem || !device) return undefined
  const options = [...new Set([...mountOptions.split(','), ...(superOptions ?? '').split(',')])].filter(Boolean)
  return {
    point: unescapeMount(point),
    fileSystem,
    device: unescapeMount(device),
    options: options.join(','),
    deviceNumber,
  }
}

/** The mount that `dir` is on: the longest mount point above it, the last one where several are stacked. */
function findMount(dir: string): MountLine | undefined {
  const path = realpathSync(dir)
  let found: MountLine | undefined
  for (const line of readText('/proc/self/mountinfo').split('\n')) {
    const mount = parseMountLine(line)
    if (mount === undefined) continue
    const holds = path === mount.point || path.startsWith(mount.point === '/' ? '/' : `${mount.point}/`)
    if (holds && mount.point.length >= (found?.point.length ?? 0)) found = mount
  }
  return found
}

/** Btrfs mounts carry a number of their own; the device's node has the disk's. */
function diskNumber({ deviceNumber, device }: MountLine): string {
  if (!deviceNumber.startsWith('0:')) return deviceNumber
  const number = statSync(device, { throwIfNoEntry: false })?.rdev ?? 0
  return `${(number >> 8) & 0xfff}:${(number & 0xff) | ((number >> 12) & 0xfff00)}`
}

function describeDisk(mount: MountLine): Disk | undefined {
  const link = `/sys/dev/block/${diskNumber(mount)}`
  let folder: string
  try {
    folder = realpathSync(link)
  } catch {
    return undefined
  }
  // A partition has no queue of its own.
  const whole = statSync(join(folder, 'queue'), { throwIfNoEntry: false }) ? folder : join(folder, '..')
  const read = (name: string): string => readText(join(whole, name))
  return {
    name: folder.split('/').at(-1) ?? '',
    model: read('device/model'),
    rotational: read('queue/rotational') === '1',
    cache: read('queue/write_cache'),
    scheduler: /\[([^\]]+)\]/.exec(read('queue/scheduler'))?.[1] ?? read('queue/scheduler'),
    backingFile: read('loop/backing_file'),
  }
}

/** Describes the machine, and the file system that `dir` is on. */
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
    disk: found === undefined ? undefined : describeDisk(found),
    freeBytes: space.bavail * space.bsize,
  }
}

const GIB = 2 ** 30

/** Label and text of each property. */
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
