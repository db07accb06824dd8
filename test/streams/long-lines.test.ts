/** Six processes append long lines to one stream and are killed, while jq and tail -F read its file. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { hasWholeLines, NO_WHOLE_LINES } from '../fixtures/file-system.js'
import { scratchDir } from '../fixtures/scratch.js'
import { values } from '../fixtures/streams.js'

const CHILD = fileURLToPath(new URL('long-lines-child.mjs', import.meta.url))
const PROCESSES = 6
const LINES = 5
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0
const isMissing = !hasWholeLines || !has('jq') || !has('tail')
if (!hasWholeLines) process.stdout.write(NO_WHOLE_LINES)

/** Runs a process and kills it after `acks` acknowledgements, or when it has finished. */
async function live(dir: string, id: string, acks: number): Promise<void> {
  const child = spawn(process.execPath, [CHILD, dir, id], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = 0
  for await (const line of createInterface({ input: child.stdout }))
    if (++said > acks || line === 'done') child.kill('SIGKILL')
}

function follow(path: string): { child: ChildProcess; lines: string[] } {
  const child = spawn('tail', ['-n', '+1', '-F', path], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => lines.push(line))
  return { child, lines }
}

test.skipIf(isMissing)(
  'if six processes are killed while they append lines of 300 kB, each line is stored once, and jq and tail -F read only complete lines',
  async () => {
    const dir = join(scratchDir(), 'streams')
    const path = join(dir, 'streams', 'shared.jsonl')
    const { child: tail, lines } = follow(path)
    let isRunning = true
    const looking = (async () => {
      let looks = 0
      await once(tail.stdout as NodeJS.ReadableStream, 'data')
      while (isRunning) {
        const jq = spawn('jq', ['-c', '.seq', path], { stdio: ['ignore', 'ignore', 'pipe'] })
        let errors = ''
        jq.stderr.on('data', (text) => {
          errors += text
        })
        const [code] = await once(jq, 'close')
        if (code !== 0) throw new Error(`jq refused the file: ${errors}`)
        looks++
      }
      return looks
    })()
    const processes = Array.from({ length: PROCESSES }, async (_, at) => {
      for (const acks of [at % 3, (at + 1) % 4, LINES]) await live(dir, `p${at}`, acks)
    })
    await Promise.race([Promise.all(processes), looking])
    isRunning = false
    expect(await looking).toBeGreaterThan(0)
    const streams = await openStreams(dir)
    const stored = (await values(streams.stream('shared').read())) as { id: string; seq: number; text: string }[]
    await streams.close()
    for (let at = 0; at < PROCESSES; at++) {
      const own = stored.filter(({ id }) => id === `p${at}`)
      expect(own.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4])
    }
    expect(stored.every(({ seq, text }) => text === String(seq).repeat(300_000))).toBe(true)
    expect(stored).toHaveLength(PROCESSES * LINES)
    const written = readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(written.map((line) => JSON.parse(line))).toEqual(stored)
    while (lines.length < written.length) await once(tail.stdout as NodeJS.ReadableStream, 'data')
    await new Promise((resolve) => setImmediate(resolve))
    expect(lines.map((line) => JSON.parse(line))).toEqual(stored)
  },
)
