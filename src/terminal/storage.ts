/** Which file system a folder is on, and the block devices below it, as Linux tells it in /proc and /sys. */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Mount {
  point: string
  fileSystem: string
  device: string
  /** Of the mount and of the file system, joined by commas. */
  options: string
  /** "major:minor". */
  deviceNumber: string
}

export interface Disk {
  /** '' if the system does not report it, as any other text here. */
  name: string
  model: string
  rotational: boolean
  /** "write back" or "write through", as the kernel sees it. */
  cache: string
  /** The same as the drive itself reports it (SCSI, SATA). */
  driveCache: string
  scheduler: string
  /** Of a loop device: the file behind it. */
  backingFile: string
  /** 0 if the system does not report it. */
  logicalBlockBytes: number
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

/** mountinfo writes spaces and the like as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

/** Parses one line of /proc/self/mountinfo (proc_pid_mountinfo(5)); undefined if it is malformed. */
export function parseMountLine(line: string): Mount | undefined {
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
export function findMount(dir: string): Mount | undefined {
  const path = realpathSync(dir)
  let found: Mount | undefined
  for (const line of readText('/proc/self/mountinfo').split('\n')) {
    const mount = parseMountLine(line)
    if (mount === undefined) continue
    const holds = path === mount.point || path.startsWith(mount.point === '/' ? '/' : `${mount.point}/`)
    if (holds && mount.point.length >= (found?.point.length ?? 0)) found = mount
  }
  return found
}

/** A Btrfs mount has a different device number; the device's node has the disk's. */
function diskNumber({ deviceNumber, device }: Mount): string {
  if (!deviceNumber.startsWith('0:')) return deviceNumber
  const number = statSync(device, { throwIfNoEntry: false })?.rdev ?? 0
  return `${(number >> 8) & 0xfff}:${(number & 0xff) | ((number >> 12) & 0xfff00)}`
}

/** `folder` is the device's in /sys. */
function describeDisk(folder: string): Disk {
  // A partition has no queue folder; its disk has.
  const whole = statSync(join(folder, 'queue'), { throwIfNoEntry: false }) ? folder : join(folder, '..')
  const read = (name: string): string => readText(join(whole, name))
  const [scsiDisk] = namesIn(join(whole, 'device/scsi_disk'))
  return {
    name: folder.split('/').at(-1) ?? '',
    model: read('device/model'),
    rotational: read('queue/rotational') === '1',
    cache: read('queue/write_cache'),
    driveCache: scsiDisk === undefined ? '' : read(`device/scsi_disk/${scsiDisk}/cache_type`),
    scheduler: /\[([^\]]+)\]/.exec(read('queue/scheduler'))?.[1] ?? read('queue/scheduler'),
    backingFile: read('loop/backing_file'),
    logicalBlockBytes: Number(read('queue/logical_block_size')),
  }
}

/** `folder` and the devices that it is made of (dm, md), each before those below it. */
function foldersFrom(folder: string): string[] {
  const below = namesIn(join(folder, 'slaves')).map((name) => realpathSync(join(folder, 'slaves', name)))
  return [folder, ...below.flatMap(foldersFrom)]
}

/** The block device of `mount`, then those below it down to the disks; empty if there is no device. */
export function disksOf(mount: Mount): Disk[] {
  let folder: string
  try {
    folder = realpathSync(`/sys/dev/block/${diskNumber(mount)}`)
  } catch {
    return []
  }
  return foldersFrom(folder).map(describeDisk)
}
