// Shares a folder with an owner that is killed while this process has no free file descriptor, with the built package.
// Prints the results of the appends as JSON.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openStreams } from '../../dist/streams/index.js'

const [, , dir, role] = process.argv
const streams = role === 'owner' ? await openStreams(dir) : undefined

async function resultOf(append) {
  try {
    return (await append()).seq
  } catch ({ code, message }) {
    return code === 'ERR_DURLOG_TOO_MANY_FILES' ? code : `${code}: ${message}`
  }
}

async function share() {
  const owner = spawn(process.execPath, [fileURLToPath(import.meta.url), dir, 'owner'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(owner.stdout, 'data')
  const shared = await openStreams(dir)
  const cursor = await shared.cursor('c')
  const results = [await resultOf(() => shared.stream('s').append(1))]
  const taken = []
  const takeAll = () => {
    try {
      for (;;) taken.push(openSync(dir, 'r'))
    } catch {
      // There is no free descriptor any more.
    }
  }
  takeAll()
  owner.kill('SIGKILL')
  await once(owner, 'close')
  for (const value of [2, 3]) {
    // Those of the pipes to the owner, and of files that this process's own thread has read meanwhile.
    takeAll()
    results.push(await resultOf(() => shared.stream('s').append(value)))
  }
  for (const fd of taken) closeSync(fd)
  results.push(await resultOf(() => shared.stream('s').append(4)))
  await cursor.commit(0)
  for await (const { value } of shared.stream('s').read({ from: results.at(-1) })) results.push(value)
  await shared.close()
  console.log(JSON.stringify(results))
}

if (streams === undefined) await share()
else {
  console.log('open')
  process.stdin.resume()
}
