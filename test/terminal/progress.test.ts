import { expect, test, vi } from 'vitest'
import { writeErr } from '../../src/terminal/output.js'
import { formatElapsed, progressLine, startProgress } from '../../src/terminal/progress.js'

test('a bar shows the share that is done and the time', () => {
  expect(progressLine('append', 50, 200, 61_000)).toBe(`append [${'#'.repeat(10)}${'-'.repeat(30)}] 25% | 1m1s`)
})

test('a bar is never more than full', () => {
  expect(progressLine('append', 300, 200, 0)).toBe(`append [${'#'.repeat(40)}] 100% | 0s`)
})

test('a bar without a total shows the time alone', () => {
  expect(progressLine('verify', 7, 0, 59_999)).toBe('verify 59s')
  expect(formatElapsed(60_000)).toBe('1m0s')
})

/** What `work` writes to a terminal, under a fake clock. */
async function drawn(work: () => Promise<void>): Promise<string[]> {
  const { stderr } = process
  const { isTTY } = stderr
  const written: string[] = []
  const write = vi.spyOn(stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  try {
    stderr.isTTY = true
    await work()
  } finally {
    stderr.isTTY = isTTY
    vi.useRealTimers()
    write.mockRestore()
  }
  return written
}

test('a bar that continues an earlier one shows the time since the start of that one', async () => {
  const written = await drawn(async () => {
    const started = performance.now()
    await vi.advanceTimersByTimeAsync(60_000)
    const progress = startProgress('bench', 100, false, started)
    await vi.advanceTimersByTimeAsync(200)
    progress.stop()
  })
  expect(written.join('')).toMatch(/bench \[-+\] 0% \| 1m0s/)
})

test('other output removes the bar from its line', async () => {
  const written = await drawn(async () => {
    const progress = startProgress('import', 100, false)
    await vi.advanceTimersByTimeAsync(1100)
    writeErr('a line\n')
    writeErr('another line\n')
    progress.stop()
  })
  const last = written.findLastIndex((text) => text.includes('import ['))
  expect(last).toBeGreaterThan(0)
  expect(written.slice(last + 1)).toEqual(['\r\x1b[K', 'a line\n', 'another line\n', '\x1b[?25h'])
})
