/** Lines in the file of a stream that a checkpoint which did not end has written. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { hasWholeLines, NO_WHOLE_LINES } from '../fixtures/file-system.js'
import { scratchDir } from '../fixtures/scratch.js'
import { leave, linesOf, values } from '../fixtures/streams.js'
import { Steps } from './checkpoint-steps.js'
import { LineWatch } from './line-watch.js'

const OPTIONS = { checkpointMs: 3_600_000 } as const
const python = spawnSync('python3', ['--version']).status === 0
/** Maps a file and reads it, so that its pages stay in the page cache until the process ends. */
const HOLDER = `
import mmap, sys
file = open(sys.argv[1], "rb")
pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
pages[:]
print("held", flush=True)
sys.stdin.read()
`
if (!hasWholeLines) process.stdout.write(NO_WHOLE_LINES)

async function holdPages(path: string): Promise<void> {
  const holder = spawn('python3', ['-c', HOLDER, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
}

const ADDED: [kind: string, lines: string[]][] = [
  ['a line of 300 kB', ['l'.repeat(300_000)]],
  ['short lines', ['one', 'two', 'three'].map((text) => text.repeat(100))],
  ['short lines, and then one of 300 kB', ['one', 'l'.repeat(300_000)]],
  ['lines that fill pages', Array.from({ length: 30 }, (_, i) => `${i}`.repeat(1500))],
]

test.skipIf(!hasWholeLines || !python).each(ADDED)(
  'if a reader holds the pages of a file with lines of a checkpoint that did not end, no later step makes the file shorter: %s',
  async (_, lines) => {
    const dir = join(scratchDir(), 'streams')
    const path = join(dir, 'streams', 's.jsonl')
    const steps = new Steps()
    let streams = await openExclusive(dir, OPTIONS, steps.hooks)
    onTestFinished(() => streams.close())
    await streams.stream('s').append('base')
    await streams.checkpoint()
    const stored = ['base']
    for (const ends of [false, true]) {
      for (const line of lines) await streams.stream('s').append(line)
      stored.push(...lines)
      steps.onStep = (name) => {
        if (name === 'catalog') throw new Error('the checkpoint ends here')
      }
      await expect(streams.checkpoint()).rejects.toThrow()
      expect(linesOf(path)).toEqual(stored)
      await holdPages(path)
      const watch = new LineWatch(join(dir, 'streams'))
      watch.look()
      steps.onStep = () => watch.look()
      // The next checkpoint of this process or of the next one.
      if (ends) {
        await leave(streams)
        streams = await openExclusive(dir, OPTIONS, steps.hooks)
      } else await streams.checkpoint()
      watch.look()
      expect(linesOf(path)).toEqual(stored)
      expect(await values(streams.stream('s').read())).toEqual(stored)
    }
    expect(streams.changes).toEqual([])
  },
)

test.skipIf(!hasWholeLines)(
  'lines that are stored again keep their place, and fill the last page with spaces',
  async () => {
    const dir = join(scratchDir(), 'streams')
    const path = join(dir, 'streams', 's.jsonl')
    const steps = new Steps()
    const streams = await openExclusive(dir, OPTIONS, steps.hooks)
    onTestFinished(() => streams.close())
    await streams.stream('s').append('base')
    await streams.checkpoint()
    await streams.stream('s').append('kept')
    steps.onStep = (name) => {
      if (name === 'catalog') throw new Error('the checkpoint ends here')
    }
    await expect(streams.checkpoint()).rejects.toThrow()
    const names: string[] = []
    steps.onStep = (name) => void names.push(name)
    const { ino } = statSync(path)
    await streams.stream('s').append('after')
    await streams.checkpoint()
    expect(names).toContain('write again')
    expect(names).not.toContain('cut')
    expect(readFileSync(path, 'utf8')).toBe(`${'"base"\n"kept"\n'.padEnd(4096)}"after"\n`)
    expect(statSync(path).ino).toBe(ino)
  },
)
