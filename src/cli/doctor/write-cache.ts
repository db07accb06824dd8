/** Whether the kernel sends flushes to the drive, and which drive that is. */
import type { Disk } from '../../terminal/storage.js'
import { type Finding, fail, notChecked, ok, warn } from './finding.js'

const CHECK = 'write cache'

/** `disks` are a device and those below it. A verdict on each; the worst one counts. */
export function judgeWriteCache(disks: readonly Disk[]): Finding {
  const told = disks.filter(({ cache }) => cache !== '').map(judgeDisk)
  if (told.length === 0) return notChecked(CHECK, 'no block device of this file system is known')
  const worst = told.find(({ verdict }) => verdict === 'FAIL') ?? told.find(({ verdict }) => verdict === 'WARN')
  return worst ?? ok(CHECK, told.map(({ found }) => found).join('; '))
}

function judgeDisk({ name, model, cache, driveCache, backingFile }: Disk): Finding {
  const called = model === '' ? name : `${name} (${model})`
  if (/^(zram|ram)\d/.test(name))
    return fail(CHECK, `${called} is memory: every level is no more than memory`, 'put the log on a disk')
  if (backingFile !== '')
    return warn(
      CHECK,
      `${called} is a loop device: a sync is as safe as on the disk of its file ${backingFile}`,
      `run durlog doctor on the folder of ${backingFile} too`,
    )
  // The kernel takes the drive's answer unless an administrator has overridden it.
  if (cache === 'write through' && driveCache.startsWith('write back'))
    return fail(
      CHECK,
      `${called} has a write cache, and the kernel is configured to assume none: it sends no flush, so a power cut undoes sync and full`,
      `echo "write back" > /sys/block/${name}/queue/write_cache`,
    )
  if (cache === 'write through')
    return ok(
      CHECK,
      `${called} is write through: it reports no cache that a power cut would empty, so no flush is sent; a host below it may hide one`,
    )
  return ok(CHECK, `${called} is ${cache}: each sync sends it a flush`)
}
