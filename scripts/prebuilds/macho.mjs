// Reads the requirements of a Mach-O library (libraries, symbols, minimum macOS) and checks its signature. Supports
// files with 64 bits and one architecture.
import { createHash } from 'node:crypto'

const CPUS = { 16777223: 'x64', 16777228: 'arm64' }
const HEADER_BYTES = 32
const LC_SYMTAB = 0x2
const LC_RPATH = 0x8000001c
const LC_CODE_SIGNATURE = 0x1d
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
    // C names have an underscore in front.
    const name = stringAt(file, strings + symbol.readUInt32LE(0)).replace(/^_/, '')
    if ((type & TYPE_MASK) === 0) result.imports.push({ name })
    else result.exports.push(name)
  }
}

// The numbers of a signature are big-endian.
const MAGIC_SIGNATURE = 0xfade0cc0
const MAGIC_CODE_DIRECTORY = 0xfade0c02
const FLAG_AD_HOC = 0x2
const HASH_SHA256 = 2
const HASH_BYTES = 32

/** The blobs of a signature, with their slots. */
function blobsOf(signature) {
  return Array.from({ length: signature.readUInt32BE(8) }, (_, i) => {
    const [slot, begin] = [12, 16].map((offset) => signature.readUInt32BE(offset + i * 8))
    const blob = signature.subarray(begin)
    return { slot, bytes: blob.subarray(0, blob.readUInt32BE(4)) }
  })
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest()
}

/** The reason why the ad hoc signature at `begin` is not valid for the file's bytes; undefined if it is valid. */
function signatureProblem(file, begin) {
  const signature = file.subarray(begin)
  if (signature.readUInt32BE(0) !== MAGIC_SIGNATURE) return 'has no signature where its header says'
  const blobs = blobsOf(signature)
  // The code directory lists the hashes of all pages of the file up to the signature and of the other blobs.
  const directory = blobs.find(({ bytes }) => bytes.readUInt32BE(0) === MAGIC_CODE_DIRECTORY)?.bytes
  if (directory === undefined) return 'has a signature without a code directory'
  const [flags, hashes, count, limit] = [12, 16, 28, 32].map((offset) => directory.readUInt32BE(offset))
  const hashOf = (slot) => directory.subarray(hashes + slot * HASH_BYTES, hashes + (slot + 1) * HASH_BYTES)
  if ((flags & FLAG_AD_HOC) === 0) return 'has a signature that is not ad hoc'
  if (directory[36] !== HASH_BYTES || directory[37] !== HASH_SHA256) return 'has a signature without SHA-256'
  const pageBytes = 2 ** directory[39]
  if (limit !== begin || count !== Math.ceil(limit / pageBytes)) return 'has a signature of another length'
  for (let page = 0; page < count; page += 1) {
    const bytes = file.subarray(page * pageBytes, Math.min((page + 1) * pageBytes, limit))
    if (!sha256(bytes).equals(hashOf(page))) return `has a signature that does not fit the bytes of page ${page}`
  }
  for (const { slot, bytes } of blobs.filter(({ bytes }) => bytes !== directory)) {
    // The hashes of the other blobs precede the hash of the first page, in reverse order.
    if (!sha256(bytes).equals(hashOf(-slot))) return `has a signature that does not fit its blob in slot ${slot}`
  }
  return undefined
}

/** @param {Buffer} file */
export function readMacho(file) {
  const result = { arch: CPUS[file.readUInt32LE(4)], libraries: [], rpaths: [], imports: [], exports: [], floor: '' }
  let signature = 'is not signed'
  let at = HEADER_BYTES
  for (let left = file.readUInt32LE(16); left > 0; left -= 1) {
    const command = file.subarray(at, at + file.readUInt32LE(at + 4))
    const kind = command.readUInt32LE(0)
    if (LOAD_LIBRARY.includes(kind)) result.libraries.push(stringAt(command, command.readUInt32LE(8)))
    else if (kind === LC_RPATH) result.rpaths.push(stringAt(command, command.readUInt32LE(8)))
    else if (kind === LC_SYMTAB) readSymbols(file, command, result)
    else if (kind === LC_CODE_SIGNATURE) signature = signatureProblem(file, command.readUInt32LE(8))
    else if (kind === LC_BUILD_VERSION) result.floor = shownVersion(command.readUInt32LE(12))
    else if (kind === LC_VERSION_MIN_MACOSX) result.floor = shownVersion(command.readUInt32LE(8))
    at += command.length
  }
  return { ...result, signature }
}
