// The systems for which the package contains a binary. Their names are the names of the folders below prebuilds/.

/**
 * @typedef {object} Target
 * @property {string} name folder below prebuilds/, and the subpath durlog/<name>
 * @property {string} triple the argument of `zig cc -target`
 * @property {'linux' | 'mac' | 'win'} system the name in binding.gyp
 * @property {'x64' | 'arm64'} arch
 * @property {'elf' | 'macho' | 'pe'} format
 * @property {'glibc' | 'musl'} [libc] on Linux
 */

/** The oldest versions of glibc and macOS that the binaries support. */
export const GLIBC_FLOOR = '2.28'
export const MACOS_FLOOR = '11.0'

/** @type {readonly Target[]} */
export const TARGETS = [
  { name: 'linux-x64', triple: `x86_64-linux-gnu.${GLIBC_FLOOR}`, system: 'linux', arch: 'x64', libc: 'glibc' },
  { name: 'linux-arm64', triple: `aarch64-linux-gnu.${GLIBC_FLOOR}`, system: 'linux', arch: 'arm64', libc: 'glibc' },
  { name: 'linux-x64-musl', triple: 'x86_64-linux-musl', system: 'linux', arch: 'x64', libc: 'musl' },
  { name: 'linux-arm64-musl', triple: 'aarch64-linux-musl', system: 'linux', arch: 'arm64', libc: 'musl' },
  { name: 'darwin-x64', triple: `x86_64-macos.${MACOS_FLOOR}`, system: 'mac', arch: 'x64' },
  { name: 'darwin-arm64', triple: `aarch64-macos.${MACOS_FLOOR}`, system: 'mac', arch: 'arm64' },
  { name: 'win32-x64', triple: 'x86_64-windows-gnu', system: 'win', arch: 'x64' },
  { name: 'win32-arm64', triple: 'aarch64-windows-gnu', system: 'win', arch: 'arm64' },
].map((target) => ({ ...target, format: { linux: 'elf', mac: 'macho', win: 'pe' }[target.system] }))

/**
 * The addons of `target`. The bench has an addon for the system calls of Linux. It is not built for musl, because two
 * more binaries would exceed the size budget of the tarball.
 */
export function addonsOf({ libc }) {
  return libc === 'glibc' ? ['durlog', 'durlog_bench'] : ['durlog']
}

/** The targets in `names`, or all of them. Throws if a name is unknown. */
export function chooseTargets(names) {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name))
  if (unknown !== undefined) {
    throw new Error(`unknown target "${unknown}"; the targets are ${TARGETS.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name))
}
