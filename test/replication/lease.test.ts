import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { BucketLease } from '../../src/archive/bucket-lease.js'
import { resolveBucket } from '../../src/archive/bucket-options.js'
import { Lease, type LeasePlace, type LeaseValue, type StoredLease } from '../../src/ship/lease.js'
import { store } from '../fixtures/archive.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { scratchDir } from '../fixtures/scratch.js'

const MS = 1000

/** A lease in memory, whose answers can be lost or fail. */
class MemoryLease implements LeasePlace {
  value: StoredLease | undefined
  isAway = false
  losesAnswers = false
  #versions = 0

  async read(): Promise<StoredLease | undefined> {
    if (this.isAway) throw new Error('away')
    return this.value
  }

  async write(value: LeaseValue, version: string | undefined): Promise<string | undefined> {
    if (this.isAway) throw new Error('away')
    if (version !== this.value?.version) return undefined
    this.value = { ...value, version: String(++this.#versions) }
    if (this.losesAnswers) throw new Error('lost')
    return this.value.version
  }

  async close(): Promise<void> {}
}

/** A lease of another copy. */
function leaseOf(place: LeasePlace, ms?: number): Lease {
  return new Lease(place, scratchDir(), ms)
}

/** The lease of a copy that the destination has accepted as the writer. */
function writing(place: LeasePlace, ms: number): Lease {
  const lease = leaseOf(place, ms)
  lease.accepted()
  return lease
}

/** A writer that holds the lease, a standby that has seen it, and the clock. */
async function heldLease() {
  const pass = adjustableClock('held')
  const place = new MemoryLease()
  const writer = writing(place, MS)
  const standby = leaseOf(place)
  expect(await writer.look()).toBe(true)
  expect(await standby.look()).toBe(false)
  /** Time passes, and `leases` are looked at five times in each duration. */
  const during = async (ms: number, ...leases: Lease[]): Promise<boolean[]> => {
    let held: boolean[] = []
    for (let passed = 0; passed < ms; passed += MS / 5) {
      pass(MS / 5)
      held = await Promise.all(leases.map((lease) => lease.look().catch(() => lease.view.isHeld)))
    }
    return held
  }
  return { pass, place, writer, standby, during }
}

test('a standby does not take a lease that is renewed, and takes one that was not renewed for its duration', async () => {
  const { writer, standby, during } = await heldLease()
  expect(await during(10 * MS, standby, writer)).toEqual([false, true])
  expect(await during(0.8 * MS, standby)).toEqual([false])
  expect(await during(0.4 * MS, standby)).toEqual([true])
})

test('of two standbys, one takes the lease, and the other waits for its end', async () => {
  const { place, standby, during } = await heldLease()
  const other = leaseOf(place)
  expect((await during(2 * MS, standby, other)).sort()).toEqual([false, true])
  const [winner, loser] = standby.view.isHeld ? [standby, other] : [other, standby]
  expect(await during(5 * MS, winner, loser)).toEqual([true, false])
  expect(await during(1.2 * MS, loser)).toEqual([true])
})

test('a holder that was stopped for an hour does not take the lease back from the process that renews it', async () => {
  const { pass, writer, standby, during } = await heldLease()
  await during(2 * MS, standby)
  expect(standby.view.isHeld).toBe(true)
  pass(3_600_000)
  expect(await writer.look()).toBe(false)
  expect(await during(5 * MS, writer, standby)).toEqual([false, true])
})

test('a standby that was stopped for an hour does not take the lease of a writer that is running', async () => {
  const { pass, writer, standby, during } = await heldLease()
  pass(3_600_000)
  expect(await standby.look()).toBe(false)
  expect(await during(2 * MS, standby, writer)).toEqual([false, true])
})

test('after the destination was away, the holder has the whole duration to renew the lease', async () => {
  const { place, writer, standby, during } = await heldLease()
  place.isAway = true
  expect(await during(20 * MS, writer, standby)).toEqual([true, false])
  place.isAway = false
  expect(await during(0.8 * MS, standby)).toEqual([false])
  expect(await during(0.2 * MS, writer, standby)).toEqual([true, false])
})

test('a holder whose renewals get no answer keeps the lease', async () => {
  const { place, writer, standby, during } = await heldLease()
  place.losesAnswers = true
  expect(await during(5 * MS, writer, standby)).toEqual([true, false])
  place.losesAnswers = false
  expect(await during(MS, writer, standby)).toEqual([true, false])
})

test('a renewal that arrives after another process has taken the lease is refused', async () => {
  const { place, standby, during } = await heldLease()
  const { version, ...late } = place.value as StoredLease
  await during(2 * MS, standby)
  expect(await place.write({ ...late, beat: late.beat + 1 }, version)).toBeUndefined()
  expect(await during(MS, standby)).toEqual([true])
})

test('a wall clock that is wrong by an hour has no effect', async () => {
  const { writer, standby, during } = await heldLease()
  const { now } = Date
  const wrong = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000)
  expect(await during(2 * MS, standby, writer)).toEqual([false, true])
  wrong.mockRestore()
  expect(await during(2 * MS, standby, writer)).toEqual([false, true])
})

test('a standby does not take a lease that no writer has held', async () => {
  const pass = adjustableClock('held')
  const standby = leaseOf(new MemoryLease())
  for (let look = 0; look < 5; look++) {
    pass(3_600_000)
    expect(await standby.look()).toBe(false)
  }
  expect(standby.view.ms).toBe(0)
})

test('a writer that the destination has accepted takes the lease from any holder, but not a second time', async () => {
  const { place, writer, during } = await heldLease()
  const next = writing(place, 2 * MS)
  expect(await next.look()).toBe(true)
  expect(await during(5 * MS, writer, next)).toEqual([false, true])
  expect(next.view.ms).toBe(2 * MS)
})

test('a copy that is being opened renews only its own lease, and takes it when the destination has accepted the copy', async () => {
  const pass = adjustableClock('held')
  const place = new MemoryLease()
  const [dir, otherDir] = [scratchDir(), scratchDir()]
  const writer = new Lease(place, dir, MS)
  writer.accepted()
  expect(await writer.look()).toBe(true)
  const other = new Lease(place, otherDir, MS)
  expect(await other.look()).toBe(false)
  pass(MS / 5)
  const again = new Lease(place, dir, MS)
  expect(await again.look()).toBe(true)
  expect(place.value?.beat).toBe(2)
  pass(MS)
  // Nor if it has ended.
  expect(await other.look()).toBe(false)
  pass(MS / 5)
  expect(await other.look()).toBe(false)
  place.value = undefined
  expect(await other.look()).toBe(false)
  other.accepted()
  expect(await other.look()).toBe(true)
  expect(await again.look()).toBe(false)
})

test('a lease that was removed is stored again by its writer, and by no standby', async () => {
  const { place, standby, writer, during } = await heldLease()
  place.value = undefined
  expect(await during(2 * MS, standby)).toEqual([false])
  expect(await during(2 * MS, standby, writer)).toEqual([false, true])
  expect(await during(1.2 * MS, standby)).toEqual([true])
})

test('a stored duration that would make processes ask without a pause is refused', async () => {
  const s3 = await store()
  const uuid = randomUUID()
  const lease = new BucketLease(resolveBucket(s3.access), uuid)
  await lease.write({ owner: randomUUID(), beat: 0, ms: 100 }, undefined)
  expect(await lease.read()).toMatchObject({ ms: 100 })
  const [key = ''] = s3.keys('lease')
  const body = Buffer.from(JSON.stringify({ owner: randomUUID(), beat: 1, ms: 1 }))
  s3.objects.set(key, { body, metadata: {}, etag: '"1"' })
  await expect(lease.read()).rejects.toMatchObject({ code: 'ERR_DURLOG_CORRUPT' })
  await lease.close()
})
