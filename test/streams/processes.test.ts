/** Several processes that share a folder of streams: docs/STREAMS.md, "Several processes". */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { openPeers, Peer } from '../fixtures/peers.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { stopProcess } from '../fixtures/stop-process.mjs'
import { all } from '../fixtures/streams.js'

const folder = (): string => join(scratchDir(), 'streams')
const onPosix = process.platform === 'win32' ? test.skip : test
// biome-ignore lint/suspicious/noExplicitAny: the answers of peers
const valuesOf = (records: any[]): unknown[] => records.map(({ value }) => value)

const codeAndOutcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'none',
    ({ code, outcome }) => `${code} ${outcome}`,
  )

test('processes append to the same streams, and each reads the records of all', async () => {
  const dir = folder()
  const [a, b, c] = (await openPeers(dir, 3)) as [Peer, Peer, Peer]
  const results = await Promise.all([a, b, c].map((peer, at) => peer.do('append', { stream: 's', value: at })))
  expect(results.map(({ seq }) => seq).sort()).toEqual([0, 1, 2])
  const inOrder = results
    .map(({ seq }, at) => [seq, at])
    .sort()
    .map(([, at]) => at)
  for (const peer of [a, b, c]) expect(valuesOf(await peer.do('read', { stream: 's' }))).toEqual(inOrder)
  await b.do('batch', {
    items: [
      { stream: 's', value: 'x', expectedSeq: 3 },
      { stream: 't', value: 'y' },
    ],
  })
  expect(await codeOf(c.do('append', { stream: 't', value: 'z', options: { expectedSeq: 0 } }))).toBe(
    'ERR_DURLOG_SEQ_CONFLICT',
  )
  const followed = c.do('read', { stream: 's', options: { from: 3, follow: true } })
  await a.do('end', { stream: 's' })
  expect(valuesOf(await followed)).toEqual(['x'])
  expect((await c.do('list')).map(({ name }: { name: string }) => name).sort()).toEqual(['s', 't'])
  expect(await b.do('delete', { stream: 't' })).toBe(true)
  expect(await a.do('info', { stream: 't' })).toBeUndefined()
  expect((await c.do('readAll')).map(({ stream }: { stream: string }) => stream)).toEqual(['s', 's', 's', 's', 't'])
})

test('processes that open a new folder at the same time share it', async () => {
  const dir = folder()
  const peers = Array.from({ length: 4 }, () => new Peer())
  await Promise.all(peers.map((peer) => peer.do('open', { dir })))
  await Promise.all(peers.map((peer, at) => peer.do('append', { stream: 's', value: at })))
  expect(await (peers[0] as Peer).do('read', { stream: 's' })).toHaveLength(4)
})

onPosix('a cursor that an owner removed before it was killed counts as removed for its client', async () => {
  const dir = folder()
  const [owner] = (await openPeers(dir, 1)) as [Peer]
  const streams = await openStreams(dir)
  onTestFinished(() => streams.close())
  const cursor = await streams.cursor('c')
  await cursor.close()
  // As the owner does before it answers. This process notices its end only after it has sent the call.
  rmSync(join(dir, 'log', 'c.cursor'))
  const killed = owner.kill()
  const removing = streams.removeCursor('c')
  await killed
  await removing
  expect(await codeOf(streams.removeCursor('c'))).toBe('ERR_DURLOG_NOT_FOUND')
})

test('records that retention has removed stay removed when the owner is killed', async () => {
  const dir = folder()
  const [a, b] = (await openPeers(dir, 2)) as [Peer, Peer]
  await a.do('create', { stream: 's', options: { retention: { maxRecords: 16 } } })
  for (let n = 0; n < 80; n++) await b.do('append', { stream: 's', value: n })
  await b.do('checkpoint')
  const { firstSeq } = await b.do('info', { stream: 's' })
  expect(firstSeq).toBeGreaterThanOrEqual(48)
  expect(await codeOf(b.do('read', { stream: 's', options: { from: firstSeq - 1 } }))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  await a.kill()
  expect((await b.do('info', { stream: 's' })).firstSeq).toBe(firstSeq)
  await b.do('append', { stream: 's', value: 80 })
  const expected = Array.from({ length: 81 - firstSeq }, (_, at) => firstSeq + at)
  expect(valuesOf(await b.do('read', { stream: 's' }))).toEqual(expected)
})

test('after the owner is killed another process replaces it, and every append in progress is stored once and in order', async () => {
  const dir = folder()
  const peers = await openPeers(dir, 4)
  const stop = join(dir, '..', 'stop')
  const running = peers.slice(1).map((peer, at) => peer.do('appendUntil', { stream: `s${at}`, path: stop }))
  const followed = (peers[3] as Peer).do('read', { stream: 's0', options: { follow: true }, max: 200 })
  await (peers[3] as Peer).do('read', { stream: 's1', options: { follow: true }, max: 50 })
  await (peers[0] as Peer).kill()
  await followed
  writeFileSync(stop, '')
  const counts = await Promise.all(running)
  for (const [at, count] of counts.entries()) {
    const records = await (peers[1] as Peer).do('read', { stream: `s${at}` })
    expect(valuesOf(records)).toEqual(Array.from({ length: count }, (_, i) => i))
  }
  expect(valuesOf(await followed)).toEqual(Array.from({ length: 200 }, (_, i) => i))
})

test('while the event loop of the owner is blocked, other processes can append and open the folder', async () => {
  const dir = folder()
  const [owner, other] = (await openPeers(dir, 2)) as [Peer, Peer]
  const path = join(dir, '..', 'release')
  const blocking = owner.event('blocking')
  const blocked = owner.do('block', { path })
  await blocking
  for (let i = 0; i < 100; i++) await other.do('append', { stream: 's', value: i })
  const [third] = (await openPeers(dir, 1)) as [Peer]
  expect(await third.do('read', { stream: 's' })).toHaveLength(100)
  writeFileSync(path, '')
  await blocked
  expect(await owner.do('read', { stream: 's' })).toHaveLength(100)
})

onPosix('a stopped owner is reported and appends fail; after it resumes, they are stored at most once', async () => {
  const dir = folder()
  const [owner, other] = (await openPeers(dir, 2)) as [Peer, Peer]
  await other.do('append', { stream: 's', value: 'before' })
  const stalled = other.event('stalled')
  stopProcess(owner.child)
  const appended = other.do('append', { stream: 's', value: 'meanwhile' })
  const expected = { code: 'ERR_DURLOG_STALLED', ownerPid: owner.child.pid, outcome: 'unknown' }
  await expect(appended).rejects.toMatchObject(expected)
  expect(await stalled).toEqual({ pid: owner.child.pid })
  const { child } = new Peer()
  child.send({ id: 0, op: 'open', dir })
  const [answer] = await new Promise<[{ error: object }]>((resolve) =>
    child.once('message', (m) => resolve([m as never])),
  )
  expect(answer.error).toMatchObject({ code: 'ERR_DURLOG_STALLED', ownerPid: owner.child.pid })
  owner.child.kill('SIGCONT')
  await other.do('append', { stream: 's', value: 'after' })
  expect(['before,after', 'before,meanwhile,after']).toContain(valuesOf(await other.do('read', { stream: 's' })).join())
})

/**
 * Appends in a client whose owner dies without an answer. The clock of the client jumps by 31 s before or after the
 * append.
 */
async function appendUnanswered(dir: string, jump: 'before' | 'after'): Promise<{ appended: Promise<unknown> }> {
  const [owner] = (await openPeers(dir, 1)) as [Peer]
  const streams = await openStreams(dir)
  onTestFinished(() => streams.close())
  const pass = adjustableClock('running')
  await streams.stream('s').append('first')
  stopProcess(owner.child)
  if (jump === 'before') pass(31_000)
  const appended = streams.stream('s').append('second')
  if (jump === 'after') pass(31_000)
  await owner.kill()
  return { appended }
}

onPosix(
  'a client that has waited for more than 30 s without a message of an owner does not repeat its requests',
  async () => {
    const { appended } = await appendUnanswered(folder(), 'after')
    // The old owner may have stored the append, and the next one may have forgotten the request.
    await expect(appended).rejects.toMatchObject({ code: 'ERR_DURLOG_STALLED', outcome: 'unknown' })
  },
)

onPosix('a client that was idle for more than 30 s repeats a later unanswered request', async () => {
  const { appended } = await appendUnanswered(folder(), 'before')
  expect(await appended).toEqual({ seq: 1, duplicate: false })
})

onPosix(
  'processes that cannot open the folder when its owner is killed fail, and do not keep others from opening it',
  async () => {
    const dir = folder()
    const [owner, ...others] = (await openPeers(dir, 3)) as [Peer, Peer, Peer]
    await owner.do('append', { stream: 's', value: 'before' })
    const catalog = join(dir, 'catalog')
    renameSync(catalog, `${catalog}-hidden`)
    writeFileSync(catalog, '')
    const stalled = others.map((other) => other.event('stalled'))
    stopProcess(owner.child)
    const appended = others.map((other) => codeAndOutcome(other.do('append', { stream: 's', value: 'meanwhile' })))
    await Promise.all(stalled)
    await owner.kill()
    expect(await Promise.all(appended)).toEqual(Array(2).fill('ERR_DURLOG_NOT_A_LOG unknown'))
    rmSync(catalog)
    renameSync(`${catalog}-hidden`, catalog)
    const [next] = (await openPeers(dir, 1)) as [Peer]
    await next.do('append', { stream: 's', value: 'after' })
    expect(valuesOf(await next.do('read', { stream: 's' }))).toEqual(['before', 'after'])
  },
)

onPosix('if the folder was moved away when its owner is killed, no process replaces it by an empty one', async () => {
  const dir = folder()
  const [owner, other] = (await openPeers(dir, 2)) as [Peer, Peer]
  await other.do('append', { stream: 's', value: 'before' })
  renameSync(dir, `${dir}-moved`)
  await owner.kill()
  expect(await codeOf(other.do('append', { stream: 's', value: 'after' }))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(existsSync(dir)).toBe(false)
  const [next] = (await openPeers(`${dir}-moved`, 1)) as [Peer]
  expect(valuesOf(await next.do('read', { stream: 's' }))).toEqual(['before'])
})

onPosix('a process does not continue in another folder that has replaced its folder', async () => {
  const dir = folder()
  const [owner, other] = (await openPeers(dir, 2)) as [Peer, Peer]
  await other.do('append', { stream: 's', value: 'before' })
  cpSync(dir, `${dir}-copy`, { recursive: true, filter: (path) => !path.endsWith('socket') })
  renameSync(dir, `${dir}-moved`)
  renameSync(`${dir}-copy`, dir)
  await owner.kill()
  for (const value of [1, 2])
    expect(await codeOf(other.do('append', { stream: 's', value }))).toBe('ERR_DURLOG_NOT_A_LOG')
  const [next] = (await openPeers(dir, 1)) as [Peer]
  expect(valuesOf(await next.do('read', { stream: 's' }))).toEqual(['before'])
})

test('after the owner closes the folder, another process becomes the owner', async () => {
  const dir = folder()
  const peers = await openPeers(dir, 3)
  for (const [at, peer] of peers.entries()) {
    const others = peers.slice(at)
    const appends = others.map((other, i) => other.do('append', { stream: 's', value: [at, i] }))
    if (at < 2) await peer.do('close')
    await Promise.all(appends)
  }
  expect(await (peers[2] as Peer).do('read', { stream: 's' })).toHaveLength(6)
})

test('a cursor keeps its position when the owner changes', async () => {
  const dir = folder()
  const [owner, other] = (await openPeers(dir, 2)) as [Peer, Peer]
  for (let i = 0; i < 10; i++) await other.do('append', { stream: 's', value: i })
  expect(await other.do('cursor', { name: 'c' })).toBe(0)
  expect(await other.do('commit', { name: 'c', position: 3 })).toBe(4)
  expect(await codeOf(owner.do('cursor', { name: 'c' }))).toBe('ERR_DURLOG_LOCKED')
  await owner.kill()
  expect(valuesOf(await other.do('cursorRead', { name: 'c', max: 6 }))).toEqual([4, 5, 6, 7, 8, 9])
  expect(await other.do('commit', { name: 'c', position: 9 })).toBe(10)
})

onPosix('a follower fails if its stream was deleted and created again while the owner changed', async () => {
  const dir = folder()
  const [owner, other, reader] = (await openPeers(dir, 3)) as [Peer, Peer, Peer]
  await other.do('append', { stream: 's', value: 'old' })
  const followed = reader.do('read', { stream: 's', options: { follow: true } })
  await reader.do('read', { stream: 's', options: { follow: true }, max: 1 })
  stopProcess(reader.child)
  await other.do('delete', { stream: 's' })
  for (let i = 0; i < 3; i++) await other.do('append', { stream: 's', value: 'new' })
  await owner.kill()
  reader.child.kill('SIGCONT')
  expect(await codeOf(followed)).toBe('ERR_DURLOG_NOT_FOUND')
})

test('a folder cannot be opened by others if one process has it open with exclusive, or with exclusive if others have it open', async () => {
  const dir = folder()
  const [alone] = (await openPeers(dir, 1, { exclusive: true })) as [Peer]
  const refused = { code: 'ERR_DURLOG_LOCKED', ownerPid: alone.child.pid }
  for (const exclusive of [true, false]) await expect(openStreams(dir, { exclusive })).rejects.toMatchObject(refused)
  await alone.do('close')
  const [sharing] = (await openPeers(dir, 1)) as [Peer]
  const locked = { code: 'ERR_DURLOG_LOCKED', ownerPid: sharing.child.pid }
  await expect(openStreams(dir, { exclusive: true })).rejects.toMatchObject(locked)
  expect(await codeOf(openStreams(dir, { durability: 'memory' }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(openStreams(dir, { encoding: 'utf8' }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

/** Copies a folder. If `isLinked` returns true for a file's name, makes a hard link of the file. */
function copyFolder(from: string, to: string, isLinked: (name: string) => boolean): void {
  mkdirSync(to, { mode: statSync(from).mode })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyFolder(source, copy, isLinked)
    else if (isLinked(entry.name)) linkSync(source, copy)
    else copyFileSync(source, copy)
  }
}

onPosix('a copy made of hard links is locked while a process has the original open', async () => {
  const [dir, copy] = [folder(), folder()]
  const [original] = (await openPeers(dir, 1)) as [Peer]
  await original.do('append', { stream: 's', value: 'original' })
  copyFolder(dir, copy, () => true)
  const locked = { code: 'ERR_DURLOG_LOCKED', ownerPid: original.child.pid }
  await expect(openStreams(copy)).rejects.toMatchObject(locked)
  await original.do('close')
  await (await openStreams(copy)).close()
})

onPosix('a copy that has the socket of its original, but not its lock, is a separate folder', async () => {
  const [dir, copy] = [folder(), folder()]
  const [original] = (await openPeers(dir, 1)) as [Peer]
  await original.do('append', { stream: 's', value: 'original' })
  copyFolder(dir, copy, (name) => name === 'socket')
  const opened = await openStreams(copy)
  onTestFinished(() => opened.close())
  await opened.stream('s').append('copy')
  expect(valuesOf(await original.do('read', { stream: 's' }))).toEqual(['original'])
  expect(valuesOf(await all(opened.stream('s').read()))).toEqual(['original', 'copy'])
})

onPosix('only this user can enter the folder of the socket', async () => {
  const dir = folder()
  await (await openStreams(dir)).close()
  expect(statSync(join(dir, 'owner')).mode & 0o777).toBe(0o700)
  chmodSync(join(dir, 'owner'), 0o755)
  const [, other] = (await openPeers(dir, 2)) as [Peer, Peer]
  await other.do('append', { stream: 's', value: 1 })
  const elsewhere = dirname(readFileSync(join(dir, 'owner', 'elsewhere'), 'utf8'))
  expect(statSync(elsewhere).mode & 0o777).toBe(0o700)
  chmodSync(elsewhere, 0o755)
  onTestFinished(() => rmSync(elsewhere, { recursive: true }))
  await expect(openStreams(dir)).rejects.toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT', path: elsewhere })
})

onPosix('processes share a folder on a file system without modes', async ({ skip }) => {
  const [from, dir] = [scratchDir(), scratchDir()]
  const mounted = spawnSync('bindfs', ['-p', 'a+rwx', '--chmod-ignore', from, dir])
  skip(mounted.status !== 0, `needs bindfs and the right to mount: ${mounted.error ?? mounted.stderr}`)
  onTestFinished(() => void spawnSync('umount', ['--lazy', dir]))
  const [owner, other] = (await openPeers(join(dir, 'streams'), 2)) as [Peer, Peer]
  await other.do('append', { stream: 's', value: 1 })
  expect(await owner.do('read', { stream: 's' })).toHaveLength(1)
  const elsewhere = dirname(readFileSync(join(dir, 'streams', 'owner', 'elsewhere'), 'utf8'))
  onTestFinished(() => rmSync(elsewhere, { recursive: true }))
})

test('processes share a folder whose path is too long for a socket', async () => {
  const parent = join(scratchDir(), 'x'.repeat(100), 'y'.repeat(100))
  mkdirSync(parent, { recursive: true })
  const [a, b] = (await openPeers(join(parent, 'streams'), 2)) as [Peer, Peer]
  await b.do('append', { stream: 's', value: 1 })
  expect(await a.do('read', { stream: 's' })).toHaveLength(1)
})

onPosix('a connection that does not follow the protocol is closed, and other clients continue', async () => {
  const dir = folder()
  const streams = await openStreams(dir)
  const tooLong = Buffer.alloc(64)
  tooLong.writeUInt32LE(2 ** 31, 0)
  const unwelcome = Buffer.from([8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1])
  for (const bytes of [tooLong, unwelcome, Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
    const socket = connect(join(dir, 'owner', 'socket'))
    const closed = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve))
    socket.write(bytes)
    await closed
  }
  await streams.stream('s').append(1)
  expect(await all(streams.stream('s').read())).toHaveLength(1)
  await streams.close()
})

test('a cursor stays open in its process when the owner changes', async () => {
  const [owner, other, third] = (await openPeers(folder(), 3)) as [Peer, Peer, Peer]
  await other.do('append', { stream: 's', value: 1 })
  await other.do('cursor', { name: 'c' })
  await owner.kill()
  // Twice, because the second call comes after all calls that the new owner received first.
  for (let i = 0; i < 2; i++) await other.do('info', { stream: 's' })
  expect(await codeOf(third.do('cursor', { name: 'c' }))).toBe('ERR_DURLOG_LOCKED')
  expect(await other.do('commit', { name: 'c', position: 0 })).toBe(1)
})

test.each([true, false])(
  'an error that a listener throws does not fail a checkpoint or a call (exclusive: %s)',
  (exclusive) => {
    const child = fileURLToPath(new URL('throwing-listener-child.mjs', import.meta.url))
    const output = execFileSync(process.execPath, [child, folder(), String(exclusive)], { timeout: 240_000 })
    const lines = output.toString().trim().split('\n')
    expect(lines.filter((line) => line.startsWith('stored'))).toEqual(['stored 0', 'stored 1'])
    expect(lines.filter((line) => line.startsWith('uncaught'))).toEqual(Array(2).fill('uncaught: from a listener'))
    expect(lines).toHaveLength(4)
  },
)
