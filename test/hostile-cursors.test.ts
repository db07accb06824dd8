/**
 * The folder is the attacker: every field of the file of a cursor, and of the list of cuts, may be a lie. A process
 * that opens the log, its cursors or a position gets an error with a code, or what the log holds.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DurlogError, inspect, type Log, open, verify } from '../src/index.js'
import { native } from '../src/native/native.js'
import { records, scratchDir } from './fixtures/scratch.js'
import { pickOf, random } from './http/hostile-requests.js'

const CURSOR = 'c.cursor'
const RECORDS = Array.from({ length: 20 }, (_, at) => `record ${at}`)
/** The log was cut after this seq once, and the cursor has passed the record at `POSITION` - 1. */
const CUT_AFTER = 14
const POSITION = 10

/** A field of a slot: its offset and its length in bytes. */
type Field = readonly [at: number, bytes: 4 | 8 | 16]

interface Format {
  slots: readonly number[]
  slotBytes: number
  fields: readonly Field[]
  /** Makes the checksum of the slot right. */
  sign(slot: Buffer): void
}

const FORMATS: Readonly<Record<string, Format>> = {
  [CURSOR]: {
    slots: [1024, 2048, 4096, 8192],
    slotBytes: 96,
    // Version, UUID, boot, counter, generation, position, durable, checksum and proven.
    fields: [8, 16, 32, 48, 56, 64, 72, 84, 88].map((at) => [at, at === 16 || at === 32 ? 16 : at === 84 ? 4 : 8]),
    sign: (slot) => {
      const version = slot.readBigUInt64LE(8)
      const proof = version === 1n ? 84 : version === 2n ? 88 : 96
      slot.writeUInt32LE(native.crc32c(native.crc32c(0, slot.subarray(0, 80)), slot.subarray(84, proof)), 80)
    },
  },
  cuts: {
    slots: [0, 4096],
    slotBytes: 4096,
    // Version, number of entries, UUID, generation, two entries, and pending.
    fields: [
      [8, 4],
      [12, 4],
      [16, 16],
      [32, 8],
      [40, 8],
      [48, 8],
      [56, 8],
      [64, 8],
      [4088, 4],
    ],
    sign: (slot) => void slot.writeUInt32LE(native.crc32c(0, slot.subarray(0, 4092)), 4092),
  },
}

const VALUES: readonly bigint[] = [
  ...[0n, 1n, 2n, 3n, 4n, 9n, 10n, 11n, 14n, 15n, 19n, 20n, 21n, 199n, 200n, 201n],
  ...[2n ** 31n, 2n ** 32n - 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n],
]

/** Changes the file `name` of `dir`, mostly with right checksums. */
function lie(dir: string, name: string, next: () => number): void {
  const pick = pickOf(next)
  const { slots, slotBytes, fields, sign } = FORMATS[name] as Format
  const path = join(dir, name)
  let bytes = readFileSync(path)
  const slotAt = (at: number): Buffer => bytes.subarray(at, at + slotBytes)
  for (let changes = 1 + Math.floor(next() * 4); changes > 0; changes--) {
    const slot = slotAt(pick(slots))
    const kind = next()
    if (kind < 0.7) {
      const [at, length] = pick(fields)
      if (length === 4) slot.writeUInt32LE(Number(BigInt.asUintN(32, pick(VALUES))), at)
      else for (let word = 0; word < length; word += 8) slot.writeBigUInt64LE(pick(VALUES), at + word)
      if (next() < 0.95) sign(slot)
    } else if (kind < 0.8) slotAt(pick(slots)).copy(slot)
    else if (kind < 0.85) slot.fill(0)
    else if (kind < 0.95) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256)
    else bytes = Buffer.concat([bytes, Buffer.alloc(4096)]).subarray(0, Math.floor(next() * (bytes.length + 4096)))
    if (bytes.length < (slots.at(-1) as number) + slotBytes) break
  }
  writeFileSync(path, bytes)
}

/** The log of `RECORDS`, of which the last ones replace others, with a cursor. */
async function example(): Promise<{ dir: string; cut: Awaited<ReturnType<typeof positionAt>> }> {
  const dir = join(scratchDir(), 'log')
  await using log = await open(dir)
  await log.appendBatch(RECORDS.slice(0, CUT_AFTER + 1))
  await log.append('cut')
  const cut = await positionAt(log, CUT_AFTER + 1)
  await log.truncateAfter(CUT_AFTER)
  await log.appendBatch(RECORDS.slice(CUT_AFTER + 1))
  await using cursor = await log.cursor('c')
  for (const durability of ['memory', 'sync', 'memory', 'sync'] as const)
    await cursor.commit(cursor.position + 1, { durability })
  await cursor.commit(POSITION - 1, { durability: 'sync' })
  return { dir, cut }
}

async function positionAt(log: Log, seq: number) {
  return { uuid: log.uuid, generation: log.generation, seq, checksum: await log.checksum(seq) }
}

async function textsFrom(reader: ReturnType<Log['read']>): Promise<[seq: number, text: string][]> {
  return (await records(reader)).map(({ seq, data }) => [seq, data.toString()])
}

/** Returns what `action` returns; undefined if it fails with a code. */
async function unlessRefused<T>(action: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof DurlogError)) throw error
    return undefined
  }
}

/** Returns false if `action` fails with a code. */
async function succeeds(action: () => Promise<unknown>): Promise<boolean> {
  return (await unlessRefused(() => action().then(() => true))) === true
}

type Example = Awaited<ReturnType<typeof example>>

/** Uses everything that reads the two files. */
async function use(dir: string, { cut }: Example): Promise<void> {
  await unlessRefused(() => inspect(dir))
  await unlessRefused(() => verify(dir))
  const log = await unlessRefused(() => open(dir))
  if (log === undefined) return
  try {
    const held = RECORDS.map((text, seq) => [seq, text])
    expect(await textsFrom(log.read())).toEqual(held)
    await unlessRefused(() => log.cursors())
    expect(await unlessRefused(() => log.isCurrent(cut))).not.toBe(true)
    await useCursor(log, held)
    await cutAgain(log)
  } finally {
    await log.close()
  }
}

async function useCursor(log: Log, held: unknown[]): Promise<void> {
  const cursor = await unlessRefused(() => log.cursor('c'))
  if (cursor === undefined) return
  expect(cursor.position).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER)
  const found = await unlessRefused(() => textsFrom(cursor.read()))
  if (found !== undefined) expect(found).toEqual(held.slice(cursor.position))
  // The next open finds the position that a commit or a seek has stored.
  for (const [move, position] of [
    [() => cursor.commit(17, { durability: 'sync' }), 18],
    [() => cursor.seek(5), 5],
    [() => cursor.commit(11, { durability: 'sync' }), 12],
  ] as const)
    if (await succeeds(move)) {
      expect(cursor.position).toBeGreaterThanOrEqual(position)
      const copy = join(scratchDir(), 'copy')
      cpSync(log.dir, copy, { recursive: true })
      await using other = await open(copy)
      await using again = await other.cursor('c')
      expect(again.position).toBe(cursor.position)
    }
  await cursor.close()
}

/** A later cut is found, whatever the files held before. */
async function cutAgain(log: Log): Promise<void> {
  const position = await unlessRefused(() => positionAt(log, 8))
  const cursor = await unlessRefused(() => log.cursor('d', { from: 9 }))
  if (position === undefined || cursor === undefined) return
  if (!(await succeeds(() => log.truncateAfter(6)))) return
  await log.appendBatch(['other 7', 'other 8', 'other 9'])
  expect(await unlessRefused(() => log.isCurrent(position))).not.toBe(true)
  expect(await unlessRefused(() => textsFrom(cursor.read()))).toBeUndefined()
  await cursor.close()
}

/** `DURLOG_FUZZ_FACTOR=50 npx vitest run test/hostile-cursors.test.ts` makes 50 times as many rounds. */
const FACTOR = Number(process.env['DURLOG_FUZZ_FACTOR'] ?? 1)
const FIRST_SEED = Number(process.env['DURLOG_FUZZ_SEED'] ?? 1)
const ROUNDS = 60

test('whatever the files of a log say about its cursors and cuts, it is refused with a code or found out', {
  timeout: 240_000 * FACTOR,
}, async () => {
  const made = await example()
  for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUNDS * FACTOR; seed++) {
    const next = random(seed)
    const dir = join(scratchDir(), 'log')
    cpSync(made.dir, dir, { recursive: true })
    for (const name of pickOf(next)([[CURSOR], ['cuts'], [CURSOR, 'cuts']])) lie(dir, name, next)
    await use(dir, made).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    })
  }
})
