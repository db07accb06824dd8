/** See the .mjs: the types by which TypeScript tests use it. */
export interface Header {
  uuid: string
  identity: Buffer
  baseTimeMs: number
  segmentBytes: number
  recycled: boolean
}
export interface FoundRecord {
  seq: number
  data: Buffer
  timestamp: number
  continues: boolean
}
export interface FoundSegment {
  header: Header
  records: FoundRecord[]
  markers: number
  syncedEnd: bigint
  /** The offset after the last complete frame of a complete batch. */
  end: number
  nextSeq: number
  endsWith: 'free' | 'broken'
}
export interface FoundLog {
  uuid: string
  firstSeq: number
  nextSeq: number
  syncedEnd: number
  records: FoundRecord[]
  segments: (FoundSegment & { name: string })[]
}
export function crc32c(...parts: Uint8Array[]): number
export function readSegment(file: Buffer, firstSeq: number): FoundSegment
export function readLog(dir: string): FoundLog
