// Reads what a Mach-O library asks of its system: 64 bits, one architecture.

const CPUS = { 16777223: 'x64', 16777228: 'arm64' }
const HEADER_BYTES = 32
const LC_SYMTAB = 0x2
const LC_RPATH = 0x8000001c
const LC_BUILD_VERSION = 0x32
const LC_VERSION_MIN_MACOSX = 0x24
const LOAD_LIBRARY = [0xc, 0x80000018, 0x8000001f]
const SYMBOL_BYTES = 16
const TYPE_STAB = 0xe0
const TYPE_MASK = 0x0e
const TYPE_EXTERNAL = 0x01

function stringAt(bytes, offset) {
  return bytes.toString('latin1', offset, bytes.indexOf(0, offset))
}

function shownVersion(word) {
  return `${word >>> 16}.${(word >>> 8) & 0xff}`
}

function readSymbols(file, command, result) {
  const [at, count, strings] = [8, 12, 16].map((offset) => command.readUInt32LE(offset))
  for (let i = 0; i < count; i += 1) {
    const symbol = file.subarray(at + i * SYMBOL_BYTES)
    const type = symbol.readUInt8(4)
    if ((type & TYPE_STAB) !== 0 || (type & TYPE_EXTERNAL) === 0) continue
    // C names carry an underscore.
    const name = stringAt(file, strings + symbol.readUInt32LE(0)).replace(/^_/, '')
    if ((type & TYPE_MASK) === 0) result.imports.push({ name })
    else result.exports.push(name)
  }
}

/** @param {Buffer} file */
export function readMacho(file) {
  const result = { arch: CPUS[file.readUInt32LE(4)], libraries: [], rpaths: [], imports: [], exports: [], floor: '' }
  let at = HEADER_BYTES
  for (let left = file.readUInt32LE(16); left > 0; left -= 1) {
    const command = file.subarray(at, at + file.readUInt32LE(at + 4))
    const kind = command.readUInt32LE(0)
    if (LOAD_LIBRARY.includes(kind)) result.libraries.push(stringAt(command, command.readUInt32LE(8)))
    else if (kind === LC_RPATH) result.rpaths.push(stringAt(command, command.readUInt32LE(8)))
    else if (kind === LC_SYMTAB) readSymbols(file, command, result)
    else if (kind === LC_BUILD_VERSION) result.floor = shownVersion(command.readUInt32LE(12))
    else if (kind === LC_VERSION_MIN_MACOSX) result.floor = shownVersion(command.readUInt32LE(8))
    at += command.length
  }
  return result
}
