/** Finds the file system of a folder, and the block devices that hold it, from Linux's /proc and /sys. */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Mount {
  point: string
  fileSystem: string
  device: string
  /** The options of the mount and of the file system, joined by commas. */
  options: string
  /** The device number as "major:minor". */
  deviceNumber: string
}

export interface Disk {
  /** The device's name. Every text in this interface is '' if the system does not report it. */
  name: string
  model: string
  rotational: boolean
  /** The write cache that the kernel assumes: "write back" or "write through". */
  cache: string
  /** The write cache that the drive itself reports (SCSI, SATA). */
  driveCache: string
  scheduler: string
  /** For a loop device: the file that holds its data. */
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

/** Decodes a name of mountinfo, which escapes spaces and some other characters as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

/** Parses a line of /proc/self/mountinfo, see proc_pid_mountinfo(5). Undefined if the line is malformed. */
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

/**
 * Finds the mount that holds `dir`: the one with the longest mount point, and of several at the same point the last.
 */
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

/**
 * Returns the device number of the mount's disk. For Btrfs, mountinfo has another number, so the device node is used.
 */
function diskNumber({ deviceNumber, device }: Mount): string {
  if (!deviceNumber.startsWith('0:')) return deviceNumber
  const number = statSync(device, { throwIfNoEntry: false })?.rdev ?? 0
  return `${(number >> 8) & 0xfff}:${(number & 0xff) | ((number >> 12) & 0xfff00)}`
}

/** `folder` is the folder of the device in /sys. */
function describeDisk(folder: string): Disk {
  // A partition has no folder `queue`, but its disk has one.
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

/** Returns the folders of a device and of the devices that it consists of (dm, md), from the top down. */
function foldersFrom(folder: string): string[] {
  const below = namesIn(join(folder, 'slaves')).map((name) => realpathSync(join(folder, 'slaves', name)))
  return [folder, ...below.flatMap(foldersFrom)]
}

/**
 * Describes the block device of `mount`, then the devices that it consists of, down to the disks. Empty if there is no
 * device.
 */
export function disksOf(mount: Mount): Disk[] {
  let folder: string
  try {
    folder = realpathSync(`/sys/dev/block/${diskNumber(mount)}`)
  } catch {
    return []
  }
  return foldersFrom(folder).map(describeDisk)
}
