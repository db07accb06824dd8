/** Checks whether the kernel sends flushes to the drive. */
import type { Disk } from '../../terminal/storage.js'
import { type Finding, fail, notChecked, ok, warn } from './finding.js'

const CHECK = 'write cache'

/** Judges a device and the devices that it consists of. Returns the worst finding. */
export function judgeWriteCache(disks: readonly Disk[]): Finding {
  const told = disks.filter(({ cache }) => cache !== '').map(judgeDisk)
  if (told.length === 0) return notChecked(CHECK, 'no block device of this file system is known')
  const worst = told.find(({ verdict }) => verdict === 'FAIL') ?? told.find(({ verdict }) => verdict === 'WARN')
  return worst ?? ok(CHECK, told.map(({ found }) => found).join('; '))
}

function judgeDisk({ name, model, cache, driveCache, backingFile }: Disk): Finding {
  const called = model === '' ? name : `${name} (${model})`
  if (/^(zram|ram)\d/.test(name))
    return fail(CHECK, `${called} is in memory: no level is safer than the level memory`, 'put the log on a disk')
  if (backingFile !== '')
    return warn(
      CHECK,
      `${called} is a loop device: a sync is as safe as on the disk of its file ${backingFile}`,
      `run durlog doctor on the folder of ${backingFile} too`,
    )
  // The kernel uses the drive's setting unless an administrator has overridden it.
  if (cache === 'write through' && driveCache.startsWith('write back'))
    return fail(
      CHECK,
      `${called} has a write cache, but the kernel is configured to assume none: it sends no flush, so sync and full do not survive a power cut`,
      `echo "write back" > /sys/block/${name}/queue/write_cache`,
    )
  if (cache === 'write through')
    return ok(
      CHECK,
      `${called} is write through: it reports no volatile write cache, so no flush is sent; the host of a virtual machine may hide one`,
    )
  return ok(CHECK, `${called} is ${cache}: each sync sends it a flush`)
}
