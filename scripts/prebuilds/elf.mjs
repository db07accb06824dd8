// Reads the requirements of a dynamic ELF file with 64 bits in little-endian order: libraries, symbols and their
// versions.

const MACHINES = { 62: 'x64', 183: 'arm64' }
const SECTION_DYNAMIC = 6
const SECTION_DYNSYM = 11
const SECTION_VERSYM = 0x6fffffff
const SECTION_VERNEED = 0x6ffffffe
const DT_NEEDED = 1
const RPATH_TAGS = [15, 29]
const SYMBOL_BYTES = 24

function sectionsOf(file) {
  const at = Number(file.readBigUInt64LE(40))
  const [size, count] = [file.readUInt16LE(58), file.readUInt16LE(60)]
  return Array.from({ length: count }, (_, i) => {
    const header = file.subarray(at + i * size)
    const offset = Number(header.readBigUInt64LE(24))
    const bytes = file.subarray(offset, offset + Number(header.readBigUInt64LE(32)))
    return { type: header.readUInt32LE(4), link: header.readUInt32LE(40), info: header.readUInt32LE(44), bytes }
  })
}

function stringAt(table, offset) {
  return table.toString('latin1', offset, table.indexOf(0, offset))
}

/** The version names, by the index that .gnu.version contains for a symbol. */
function versionsOf(sections) {
  const versions = new Map()
  const needed = sections.find(({ type }) => type === SECTION_VERNEED)
  if (needed === undefined) return versions
  const strings = sections[needed.link].bytes
  for (let file = 0, i = 0; i < needed.info; i += 1) {
    let entry = file + needed.bytes.readUInt32LE(file + 8)
    for (let left = needed.bytes.readUInt16LE(file + 2); left > 0; left -= 1) {
      const name = stringAt(strings, needed.bytes.readUInt32LE(entry + 8))
      versions.set(needed.bytes.readUInt16LE(entry + 6), name)
      entry += needed.bytes.readUInt32LE(entry + 12)
    }
    file += needed.bytes.readUInt32LE(file + 12)
  }
  return versions
}

/** @param {Buffer} file */
export function readElf(file) {
  const sections = sectionsOf(file)
  const dynamic = sections.find(({ type }) => type === SECTION_DYNAMIC)
  const symbols = sections.find(({ type }) => type === SECTION_DYNSYM)
  const versionIndex = sections.find(({ type }) => type === SECTION_VERSYM)
  const versions = versionsOf(sections)
  const result = { arch: MACHINES[file.readUInt16LE(18)], libraries: [], rpaths: [], imports: [], exports: [] }
  for (let at = 0; at < dynamic.bytes.length; at += 16) {
    const tag = Number(dynamic.bytes.readBigInt64LE(at))
    const value = () => stringAt(sections[dynamic.link].bytes, Number(dynamic.bytes.readBigUInt64LE(at + 8)))
    if (tag === DT_NEEDED) result.libraries.push(value())
    else if (RPATH_TAGS.includes(tag)) result.rpaths.push(value())
  }
  for (let i = 1; i * SYMBOL_BYTES < symbols.bytes.length; i += 1) {
    const symbol = symbols.bytes.subarray(i * SYMBOL_BYTES)
    const name = stringAt(sections[symbols.link].bytes, symbol.readUInt32LE(0))
    const isDefined = symbol.readUInt16LE(6) !== 0
    if (isDefined) result.exports.push(name)
    else result.imports.push({ name, version: versions.get(versionIndex?.bytes.readUInt16LE(i * 2)) })
  }
  return result
}
