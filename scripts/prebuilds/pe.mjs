// Reads the requirements of a Windows DLL in the format PE32+: libraries and symbols.

const MACHINES = { 34404: 'x64', 43620: 'arm64' }
const OPTIONAL_HEADER = 24
const DIRECTORIES = OPTIONAL_HEADER + 112
const SECTION_BYTES = 40
const IMPORT_BYTES = 20
const DELAY_IMPORTS = 13
const BY_ORDINAL = 1n << 63n

function stringAt(bytes, offset) {
  return bytes.toString('latin1', offset, bytes.indexOf(0, offset))
}

/** Returns a function that converts an address in memory to an offset in the file. */
function mapperOf(file, header) {
  const first = header + OPTIONAL_HEADER + file.readUInt16LE(header + 20)
  const sections = Array.from({ length: file.readUInt16LE(header + 6) }, (_, i) => {
    const at = first + i * SECTION_BYTES
    const [address, bytes, offset] = [12, 16, 20].map((field) => file.readUInt32LE(at + field))
    return { address, bytes, offset }
  })
  return (address) => {
    const section = sections.find((each) => address >= each.address && address < each.address + each.bytes)
    return address - section.address + section.offset
  }
}

function readImports(file, at, offsetOf, result) {
  for (let entry = at; file.readUInt32LE(entry + 12) !== 0; entry += IMPORT_BYTES) {
    const library = stringAt(file, offsetOf(file.readUInt32LE(entry + 12)))
    result.libraries.push(library)
    for (let slot = offsetOf(file.readUInt32LE(entry)); ; slot += 8) {
      const value = file.readBigUInt64LE(slot)
      if (value === 0n) break
      const name = (value & BY_ORDINAL) !== 0n ? `#${value & 0xffffn}` : stringAt(file, offsetOf(Number(value)) + 2)
      result.imports.push({ name, library })
    }
  }
}

/** @param {Buffer} file */
export function readPe(file) {
  const header = file.readUInt32LE(60)
  const offsetOf = mapperOf(file, header)
  const directory = (index) => file.readUInt32LE(header + DIRECTORIES + index * 8)
  const result = { arch: MACHINES[file.readUInt16LE(header + 4)], libraries: [], rpaths: [], imports: [], exports: [] }
  if (directory(0) !== 0) {
    const at = offsetOf(directory(0))
    const names = offsetOf(file.readUInt32LE(at + 32))
    for (let i = 0; i < file.readUInt32LE(at + 24); i += 1) {
      result.exports.push(stringAt(file, offsetOf(file.readUInt32LE(names + i * 4))))
    }
  }
  if (directory(1) !== 0) readImports(file, offsetOf(directory(1)), offsetOf, result)
  result.hasDelayedImports = directory(DELAY_IMPORTS) !== 0
  return result
}
