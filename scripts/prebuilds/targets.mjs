// The systems that the package carries a binary for. The names are the folders below prebuilds/.

/**
 * @typedef {object} Target
 * @property {string} name folder below prebuilds/, and the subpath durlog/<name>
 * @property {string} triple as `zig cc -target` takes it
 * @property {'linux' | 'mac' | 'win'} system as binding.gyp calls it
 * @property {'x64' | 'arm64'} arch
 * @property {'elf' | 'macho' | 'pe'} format
 * @property {'glibc' | 'musl'} [libc] on Linux
 */

/** The oldest glibc and macOS that a binary runs on. */
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
 * The addons of `target`. The bench compares with Linux's system calls; two more of its addon, for musl, would take the
 * tarball over its budget.
 */
export function addonsOf({ libc }) {
  return libc === 'glibc' ? ['durlog', 'durlog_bench'] : ['durlog']
}

/** The targets in `names`, or all of them. Throws if a name is unknown. */
export function chooseTargets(names) {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name))
  if (unknown !== undefined) {
    throw new Error(`there is no target "${unknown}"; there are ${TARGETS.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name))
}
