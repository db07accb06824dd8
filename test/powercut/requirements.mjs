// The rig's requirements on the machine. Each function returns a reason not to run, or null.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const debianPackages = ['g++', 'pkg-config', 'libfuse3-dev', 'e2fsprogs', 'xfsprogs', 'btrfs-progs']

function succeeds(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

function missingPrograms() {
  const programs = ['g++', 'pkg-config', 'mkfs.ext4', 'mkfs.xfs', 'mkfs.btrfs', 'xfs_io']
  const missing = programs.filter(
    (program) => !succeeds('sh', '-c', `PATH=$PATH:/sbin:/usr/sbin command -v ${program}`),
  )
  if (!succeeds('pkg-config', '--exists', 'fuse3')) missing.push('libfuse3-dev')
  return missing
}

/** Installs missing tools from Debian's packages if that is possible and wanted. */
function whyToolsAreMissing(install) {
  if (missingPrograms().length === 0) return null
  if (!install) return `missing: ${missingPrograms().join(', ')}`
  if (!existsSync('/usr/bin/apt-get')) return `missing: ${missingPrograms().join(', ')}, and there is no apt-get`
  console.log(`installing ${debianPackages.join(' ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync('apt-get', ['update', '-q'], { stdio: 'ignore', env })
  spawnSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...debianPackages], { stdio: 'ignore', env })
  const missing = missingPrograms()
  return missing.length === 0 ? null : `missing, and apt-get could not install: ${missing.join(', ')}`
}

export function whyNotHere({ install = true } = {}) {
  if (process.platform !== 'linux') return `it needs Linux, this is ${process.platform}`
  if (process.getuid() !== 0) return 'it needs root, to mount file systems'
  for (const [device, module] of [
    ['/dev/fuse', 'fuse'],
    ['/dev/loop-control', 'loop'],
  ]) {
    if (!existsSync(device)) spawnSync('modprobe', [module], { stdio: 'ignore' })
    if (!existsSync(device)) return `there is no ${device}`
  }
  if (!succeeds('unshare', '--mount', 'true')) return 'this root may not mount (a container without CAP_SYS_ADMIN?)'
  return whyToolsAreMissing(install)
}

export function whyNotOn(fileSystem) {
  const known = () => readFileSync('/proc/filesystems', 'utf8').split(/\s+/).includes(fileSystem)
  if (!known()) spawnSync('modprobe', [fileSystem], { stdio: 'ignore' })
  return known() ? null : `the kernel does not know ${fileSystem}`
}
