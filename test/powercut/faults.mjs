// npm run trial -- faults: one write or flush of the disk fails or is delayed, with every way to write, and the log is
// opened again. Exits with 1 if an acknowledged record was lost, an open failed on a working disk, or a durlog that
// trusts the page cache was not caught on ext4. The full form also runs the tests of write errors that another process
// has consumed, and those of single failing system calls on XFS and Btrfs.
//   --fs=ext4,xfs,btrfs  --seed=N  --short (each fault with each way once)  --case=N or N-M (only these)
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { binFolder, build, shim, whyNoPackage } from './build.mjs'
import { whyNotHere, whyNotOn } from './requirements.mjs'

const { values: options } = parseArgs({
  options: {
    fs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
    case: { type: 'string', default: '' },
  },
})
const fileSystems = (options.fs ?? (options.short ? 'ext4' : 'ext4,xfs,btrfs')).split(',')

const root = join(import.meta.dirname, '../..')
const BROKEN_ROUNDS = 4
const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    for (const child of running) child.kill(signal)
  })
}

/** Runs the trials on one file system and returns the result of each. */
async function tryOn(fileSystem, extent, environment = '') {
  const script = join(import.meta.dirname, 'durlog', 'fault-driver.mjs')
  const driver = `${environment} '${process.execPath}' '${script}' ${options.seed} ${extent} ${options.case}`
  const child = spawn(join(binFolder, 'powercut'), ['faults', `--fs=${fileSystem}`, `--driver=${driver}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))
  const results = []
  for await (const line of createInterface({ input: child.stdout })) {
    const result = JSON.parse(line)
    results.push(result)
  }
  const ending = await ended
  running.delete(child)
  if (ending !== 0) throw new Error(`the rig ended with ${ending} on ${fileSystem}`)
  return results
}

function tally(results, key) {
  const counts = {}
  for (const result of results) counts[result[key] || 'none'] = (counts[result[key] || 'none'] ?? 0) + 1
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

function print(fileSystem, results, seconds) {
  const violations = results.filter((result) => result.violation !== undefined)
  for (const { number, name, violation } of violations) {
    console.log(`${fileSystem}, case ${number}: ${name}\n  ${violation}`)
  }
  console.log(`${fileSystem}: ${results.length} trials in ${seconds} s, ${violations.length} violations`)
  for (const fault of new Set(results.map((result) => result.fault))) {
    const those = results.filter((result) => result.fault === fault && result.violation === undefined)
    console.log(`  ${fault}: append failed with ${tally(those, 'code')}; found ${tally(those, 'state')}`)
  }
  return violations.length
}

/**
 * Whether a durlog that neither drops the cache nor writes past it is caught. A case shows nothing if the fault meets
 * the kernel's own writeback, so the cases are tried several times.
 */
async function catchesBroken() {
  let trials = 0
  for (let round = 0; round < BROKEN_ROUNDS; ++round) {
    const results = await tryOn('ext4', 'broken', `DURLOG_BREAK=kept-cache LD_PRELOAD='${shim}'`)
    trials += results.length
    const caught = results.at(-1)?.violation
    if (caught === undefined) continue
    console.log(`broken durlog kept-cache on ext4: caught in trial ${trials}: ${caught}`)
    return true
  }
  console.log(`broken durlog kept-cache on ext4: GOT AWAY in ${trials} trials`)
  return false
}

const vitest = [process.execPath, join(root, 'node_modules/vitest/vitest.mjs'), 'run']

function passesConsumedErrors() {
  const [node, ...args] = [...vitest, 'test/faults/consumed-error.test.ts']
  return spawnSync(node, args, { stdio: 'inherit', cwd: root }).status === 0
}

/** Runs the tests with their scratch folders on a new disk, which is unmounted with its mount namespace. */
function passesSystemCalls(fileSystem) {
  const folder = mkdtempSync(join(tmpdir(), `durlog-calls-${fileSystem}-`))
  const script = `set -e; cd "$0"; truncate -s 2G image; mkfs.${fileSystem} -q -f image; mkdir disk
    mount -o loop image disk; export TMPDIR="$0/disk"; cd "$1"; shift; exec "$@"`
  const tests = ['test/faults/injected.test.ts', 'test/faults/upkeep.test.ts']
  const args = ['--mount', 'sh', '-c', script, folder, root, ...vitest, ...tests]
  try {
    return spawnSync('unshare', args, { stdio: 'inherit' }).status === 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main() {
  for (const fileSystem of fileSystems) {
    const skipped = whyNotOn(fileSystem)
    if (skipped !== null) {
      console.log(`${fileSystem} skipped: ${skipped}`)
      continue
    }
    const began = Date.now()
    const results = await tryOn(fileSystem, options.short ? 'short' : 'full')
    if (print(fileSystem, results, Math.round((Date.now() - began) / 1000)) > 0) process.exitCode = 1
    if (fileSystem === 'ext4' && options.case === '' && !(await catchesBroken())) process.exitCode = 1
    // `npm run test:js` runs them on the file system of its scratch folders.
    const onlyHere = fileSystem !== 'ext4' && !options.short && options.case === ''
    if (onlyHere && !passesSystemCalls(fileSystem)) process.exitCode = 1
  }
  // `npm run test:js` runs them too.
  if (!options.short && options.case === '' && !passesConsumedErrors()) process.exitCode = 1
}

const reason = whyNotHere({ install: !options.short })
const unbuilt = whyNoPackage()
if (reason !== null) {
  console.log(`faults skipped: ${reason}`)
} else if (unbuilt !== null) {
  console.error(`faults: ${unbuilt}`)
  process.exitCode = 2
} else {
  await build()
  await main()
}
