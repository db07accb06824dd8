// For binding.gyp: prints the platform and checksum sources that a system and processor need, one path per line. The
// file name selects them: posix_* (Linux and macOS), *_linux, *_darwin, windows_*, *_arm64_*; others are for every
// system.
import { readdirSync } from 'node:fs'

const SYSTEMS = { linux: 'linux', mac: 'darwin', windows: 'windows' }
const CHECKSUMS = {
  x64: () => ['crc32c_sse42.cc', 'implementations_x64.cc'],
  arm64: (system) => ['crc32c_arm64.cc', 'implementations_arm64.cc', `features_arm64_${system}.cc`],
}

const [gypSystem, processor] = process.argv.slice(2)
const system = SYSTEMS[gypSystem] ?? 'linux'
const posix = system !== 'windows'

function belongs(name) {
  const systemOfFile = /(?:^|_)(linux|darwin|windows)(?:_|\.)/.exec(name)?.[1]
  if (systemOfFile) return systemOfFile === system
  return posix || !name.startsWith('posix_')
}

const platform = readdirSync('src-native/platform').filter((name) => name.endsWith('.cc') && belongs(name))
const checksum = (CHECKSUMS[processor] ?? (() => ['implementations_portable.cc']))(system)
console.log(
  [
    ...platform.map((name) => `src-native/platform/${name}`),
    ...checksum.map((name) => `src-native/checksum/${name}`),
  ].join('\n'),
)
