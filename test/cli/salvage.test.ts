/** Commands on a log whose newest segment is corrupt. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open, verify } from '../../src/index.js'
import { durlog } from '../fixtures/command.js'
import { openUntilDone, records, scratchDir } from '../fixtures/scratch.js'

const COUNT = 2000
const DAMAGED = 1900
const NAME = /^\d{20}\.seg$/

/** A closed log of several segments; a synced record of the newest one is damaged. */
async function corruptLog(damaged = DAMAGED): Promise<string> {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir, { segmentBytes: 65536 })
  for (let i = 0; i < COUNT; i++) log.write(`record ${i}.`)
  await log.close()
  damage(dir, damaged)
  return dir
}

/** Damages a record, and returns the name of its segment. */
function damage(dir: string, seq: number): string {
  for (const name of readdirSync(dir)) {
    if (!NAME.test(name)) continue
    const bytes = readFileSync(join(dir, name))
    const at = bytes.indexOf(`record ${seq}.`)
    if (at === -1) continue
    bytes.writeUInt8(255, at)
    writeFileSync(join(dir, name), bytes)
    return name
  }
  throw new Error(`no segment has record ${seq}`)
}

const lines = (bytes: Buffer): string[] => bytes.toString().trimEnd().split('\n')
const WITHOUT_DAMAGED = Array.from({ length: COUNT }, (_, i) => i).filter((i) => i !== DAMAGED)

describe('a log with damage in its newest segment', () => {
  test('verify says what to do next, with the command that accepts the loss', async () => {
    const dir = await corruptLog()
    const { code, stdout } = await durlog(['verify', dir])
    expect([code, stdout.toString()]).toEqual([
      2,
      expect.stringContaining(`to accept the loss, "durlog repair ${dir} --salvage --apply"`),
    ])
    const found = JSON.parse((await durlog(['verify', dir, '--json'])).stdout.toString())
    expect(found.advice).toContain('--from BACKUP')
  })

  test('cat prints every record before the damage, and exits with 2', async () => {
    const dir = await corruptLog()
    for (const args of [
      ['cat', dir],
      ['tail', dir, '-n', String(COUNT)],
    ]) {
      const { code, stdout, stderr } = await durlog(args)
      expect([code, stderr]).toEqual([2, expect.stringContaining('ERR_DURLOG_CORRUPT')])
      expect(lines(stdout)).toEqual(Array.from({ length: DAMAGED }, (_, i) => `record ${i}.`))
    }
  })

  test('export --salvage prints every intact record with its seq, reports the loss, and exits with 2', async () => {
    const dir = await corruptLog()
    const plain = await durlog(['export', dir])
    expect([plain.code, lines(plain.stdout).length]).toEqual([2, DAMAGED])
    const { code, stdout, stderr } = await durlog(['export', dir, '--salvage'])
    expect([code, stderr]).toEqual([2, `durlog: lost seq ${DAMAGED}: ${stderr.split(': ').slice(2).join(': ')}`])
    const found = lines(stdout).map((line) => JSON.parse(line))
    expect(found.map(({ seq }) => seq)).toEqual(WITHOUT_DAMAGED)
    expect(found.every(({ seq, data }) => data === `record ${seq}.`)).toBe(true)
  })

  test('append is refused and names --salvage; with it appends continue and all intact records keep their seqs', async () => {
    const dir = await corruptLog()
    const refused = await durlog(['append', dir], 'x\n')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--salvage')])
    const { code, stderr, stdout } = await durlog(['append', dir, '--salvage', '--json'], 'new\n')
    expect([code, JSON.parse(stderr).warning.recovery.state]).toEqual([0, 'corrupt'])
    const { first } = JSON.parse(stdout.toString())
    expect(first).toBeGreaterThanOrEqual(COUNT)
    const log = await openUntilDone(dir)
    const found = await records(log.read({ salvage: true }))
    expect(found.map(({ seq }) => seq)).toEqual([...WITHOUT_DAMAGED, first])
  })

  test('repair --salvage --apply lets the log take appends again, keeps seqs and removes no byte', async () => {
    const dir = await corruptLog(COUNT - 1)
    const files = readdirSync(dir).filter((name) => NAME.test(name))
    const bytes = files.map((name) => readFileSync(join(dir, name)))
    const dry = await durlog(['repair', dir, '--salvage'])
    expect([dry.code, dry.stdout.toString()]).toEqual([2, expect.stringContaining(`record ${COUNT - 1} is lost`)])
    expect((await durlog(['append', dir], 'x\n')).code).toBe(2)
    const { code, stdout } = await durlog(['repair', dir, '--salvage', '--apply', '--json'])
    expect(code).toBe(0)
    const { nextSeq } = JSON.parse(stdout.toString())
    expect(nextSeq).toBeGreaterThanOrEqual(COUNT)
    expect(files.map((name) => readFileSync(join(dir, name)))).toEqual(bytes)
    const log = await openUntilDone(dir)
    expect(await log.append('new')).toBe(nextSeq)
    const found = await records(log.read({ salvage: true }))
    expect(found.map(({ seq }) => seq)).toEqual([...Array.from({ length: COUNT - 1 }, (_, i) => i), nextSeq])
  })

  test('backup --salvage makes a log that is clean, with every intact record at its seq', async () => {
    const dir = await corruptLog()
    const copy = `${dir}-copy`
    expect((await durlog(['backup', dir, `${dir}-strict`])).code).toBe(2)
    const { code, stderr } = await durlog(['backup', dir, copy, '--salvage'])
    expect([code, stderr]).toEqual([2, expect.stringContaining(`durlog: lost seq ${DAMAGED}: `)])
    expect((await durlog(['verify', copy])).code).toBe(0)
    await durlog(['restore', `${dir}-restored`, copy])
    const log = await openUntilDone(`${dir}-restored`)
    expect((await records(log.read())).map(({ seq }) => seq)).toEqual(WITHOUT_DAMAGED)
    expect(await log.append('next')).toBe(COUNT)
  })

  test('repair --salvage of an intact log changes nothing', async () => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir], 'a\n')
    const before = readdirSync(dir)
    const { code, stdout } = await durlog(['repair', dir, '--salvage'])
    expect([code, stdout.toString()]).toEqual([0, 'clean: nothing to remove\n'])
    expect(readdirSync(dir)).toEqual(before)
  })
})

describe('repair --from', () => {
  /** A log of several segments, its backup, and the log's records. */
  async function backedUp(): Promise<{ dir: string; backup: string; all: unknown[] }> {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, { segmentBytes: 65536 })
    for (let i = 0; i < COUNT; i++)
      log.appendSync(`record ${i}.`, { durability: 'memory', timestamp: 1_700_000_000_000 + i })
    await log.close()
    const backup = `${dir}-copy`
    await durlog(['backup', dir, backup])
    return { dir, backup, all: await recordsOf(dir) }
  }

  async function recordsOf(dir: string): Promise<unknown[]> {
    const log = await openUntilDone(dir, { readOnly: true })
    return (await records(log.read())).map(({ seq, timestamp, data }) => [seq, timestamp, data.toString()])
  }

  test('puts lost records back from a backup, in sealed segments and in the newest one, and keeps the damaged files', async () => {
    const { dir, backup, all } = await backedUp()
    const names = [100, 101, 700, DAMAGED].map((seq) => damage(dir, seq))
    const damaged = new Map(names.map((name) => [name, readFileSync(join(dir, name))]))
    const dry = await durlog(['repair', dir, '--from', backup])
    expect([dry.code, dry.stdout.toString()]).toEqual([
      2,
      expect.stringContaining(`seq 100 to 101, seq 700: found in ${backup}`),
    ])
    expect(names.map((name) => readFileSync(join(dir, name)))).toEqual(names.map((name) => damaged.get(name)))
    const aside = `${dir}-aside`
    const { code, stdout } = await durlog(['repair', dir, '--from', backup, '--apply', '--backup', aside])
    expect([code, stdout.toString()]).toEqual([0, expect.stringContaining('the log is clean')])
    expect((await durlog(['verify', dir])).code).toBe(0)
    expect(await recordsOf(dir)).toEqual(all)
    for (const [name, bytes] of damaged) expect(readFileSync(join(aside, name))).toEqual(bytes)
    const log = await openUntilDone(dir)
    expect([log.recovery.state, await log.append('next')]).toEqual(['clean', COUNT])
  })

  test('puts an accepted loss back, and later damage at the same place is not accepted', async () => {
    const { dir, backup } = await backedUp()
    damage(dir, DAMAGED)
    await durlog(['repair', dir, '--salvage', '--apply'])
    await durlog(['repair', dir, '--from', backup, '--apply'])
    expect(await verify(dir)).toMatchObject({ state: 'clean', accepted: [] })
    damage(dir, DAMAGED)
    expect(await verify(dir)).toMatchObject({ state: 'corrupt', problems: [{ lostFirst: DAMAGED }], accepted: [] })
  })

  test('changes no segment of which the backup lacks a record, and no log of another history', async () => {
    const { dir, backup } = await backedUp()
    damage(dir, 100)
    damage(backup, 100)
    const missing = await durlog(['repair', dir, '--from', backup, '--apply'])
    expect([missing.code, missing.stdout.toString()]).toEqual([2, expect.stringContaining(`not all are in ${backup}`)])
    const other = await backedUp()
    const wrong = await durlog(['repair', dir, '--from', other.backup, '--apply'])
    expect([wrong.code, wrong.stderr]).toEqual([65, expect.stringContaining('holds another log')])
    const cut = `${dir}-cut`
    await durlog(['restore', cut, other.dir])
    const log = await open(cut)
    await log.truncateAfter(98)
    for (let i = 99; i < COUNT; i++) log.write(`other ${i}.`)
    await log.close()
    damage(other.dir, 100)
    const cutOff = await durlog(['repair', other.dir, '--from', cut, '--apply'])
    expect([cutOff.code, cutOff.stderr]).toEqual([65, expect.stringContaining('record 99 of')])
  })

  test('is refused while a process has the log open', async () => {
    const { dir, backup } = await backedUp()
    damage(dir, 100)
    await openUntilDone(dir)
    const { code, stderr } = await durlog(['repair', dir, '--from', backup, '--apply'])
    expect([code, stderr]).toEqual([75, expect.stringContaining('LOCKED')])
    expect(readdirSync(dir)).not.toContain('repairing')
  })
})

test('after repair --salvage --apply, verify lists the accepted losses and exits with 0, until there is new damage', async () => {
  const dir = await corruptLog()
  await durlog(['repair', dir, '--salvage', '--apply'])
  await durlog(['append', dir], 'record 99999.\n')
  const { code, stdout } = await durlog(['verify', dir])
  expect([code, stdout.toString()]).toEqual([0, expect.stringMatching(`record ${DAMAGED} is lost; accepted\n`)])
  expect(await verify(dir)).toMatchObject({ state: 'clean', problems: [], accepted: [{ lostFirst: DAMAGED }] })
  damage(dir, 300)
  const again = await verify(dir)
  expect(again).toMatchObject({ state: 'corrupt', problems: [{ lostFirst: 300 }], accepted: [{ lostFirst: DAMAGED }] })
  expect((await durlog(['verify', dir])).code).toBe(2)
})
