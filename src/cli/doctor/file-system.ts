/** The effect of a file system and its mount options on the levels. */
import type { Mount } from '../../terminal/storage.js'
import { type Finding, fail, ok, warn } from './finding.js'

const CHECK = 'file system'

interface Kind {
  names: readonly string[]
  judge(name: string): Finding
}

const KINDS: readonly Kind[] = [
  {
    names: ['ext4', 'ext3', 'xfs', 'jfs', 'apfs', 'hfs', 'ntfs'],
    judge: (name) => ok(CHECK, `${name}: a local disk with a journal; every level holds`),
  },
  {
    names: ['tmpfs', 'ramfs', 'devtmpfs', 'rootfs'],
    judge: (name) =>
      fail(
        CHECK,
        `${name} is in memory: no level is safer than the level memory, and all records are lost when the machine restarts`,
        'put the log on a disk',
      ),
  },
  {
    names: ['btrfs', 'zfs', 'bcachefs', 'f2fs', 'refs'],
    judge: (name) =>
      warn(
        CHECK,
        `${name} is copy-on-write: every level holds; memory and async cost a system call for each commit instead of a store, sync and full write new blocks and their metadata each time`,
        `ext4 or XFS are faster${name === 'zfs' ? '; "zfs get sync" must not say disabled' : ''}`,
      ),
  },
  {
    names: ['overlay', 'aufs'],
    judge: (name) =>
      warn(
        CHECK,
        `${name} is the writable layer of a container: every level holds as on the file system below it, without memory maps; the log is lost when the container is removed`,
        'mount a volume for the log',
      ),
  },
  {
    names: ['nfs', 'nfs4', 'cifs', 'smb2', 'smb3', 'ceph', 'afs', 'gfs2', 'ocfs2', '9p', 'virtiofs', 'fuse'],
    judge: (name) =>
      warn(
        CHECK,
        `${name} is a network file system, or is served by another program: memory and async hold on this machine, sync and full only if the server honours a sync; readers on other machines do not notice a truncation`,
        'put the log on a local disk, or make sure that the server syncs (NFS: export with sync) and locks',
      ),
  },
  {
    names: ['vfat', 'msdos', 'exfat', 'ntfs3', 'fuseblk', 'ext2'],
    judge: (name) =>
      warn(
        CHECK,
        `${name} has no journal: after a power cut names and lengths of files may be wrong, at any level`,
        'put the log on ext4 or XFS',
      ),
  },
]

/** Mount options that break a level, with the file systems to which this applies (default: all). */
const HARMFUL: readonly { option: RegExp; on?: RegExp; found: string; advice: string }[] = [
  {
    option: /^ro$/,
    found: 'it is mounted read-only',
    advice: 'mount it with rw; "dmesg" shows whether an error made it read-only',
  },
  {
    option: /^(nobarrier|barrier=(0|none)|fsync_mode=nobarrier)$/,
    found: 'no flush is sent to the drive: sync and full do not survive a power cut',
    advice: 'mount it with barriers',
  },
  {
    option: /^volatile$/,
    on: /^overlay$/,
    found: 'a sync does nothing: sync and full are no safer than the level memory',
    advice: 'mount it without volatile, or mount a volume for the log',
  },
  {
    option: /^(nolock|local_lock=(all|posix))$/,
    on: /^nfs/,
    found: 'other machines do not see locks: two writers may open the log and destroy it',
    advice: 'mount it with locks (NFSv4, or NFSv3 without nolock)',
  },
]

/** Judges a file system by its name in mountinfo, or, on systems without mountinfo, in `stats().fileSystem`. */
export function judgeFileSystem(name: string): Finding {
  const known = KINDS.find(({ names }) => names.includes(name) || (names.includes('fuse') && name.startsWith('fuse.')))
  if (known !== undefined) return known.judge(name)
  return warn(
    CHECK,
    `durlog does not know ${name}, so it uses pwrite and no memory map there; the effect of a sync is unknown too`,
    'check the findings below, or put the log on ext4 or XFS',
  )
}

export function judgeMount(mount: Mount): Finding {
  const { fileSystem, device, point, options } = mount
  const where = `${device} at ${point} (${options})`
  for (const { option, on, found, advice } of HARMFUL) {
    const there = options.split(',').find((name) => option.test(name))
    if (there === undefined || (on !== undefined && !on.test(fileSystem))) continue
    return fail(CHECK, `${fileSystem} with ${there}: ${found}; ${where}`, advice)
  }
  const judged = judgeFileSystem(fileSystem)
  return { ...judged, found: `${judged.found}; ${where}` }
}
