// Fuzzes the core: npm run fuzz -- [--seconds N] [decode|open|json]. Needs a clang++ with libFuzzer; without one,
// fuzzing is skipped. New inputs are written to build/fuzz; the committed corpus is in test/fuzz.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, env, exit } from 'node:process'

const FUZZERS = { decode: 4096, open: 16384, json: 4096 }
const DEFAULT_SECONDS = 60
/** The folders of the core that no fuzzer uses. */
const NOT_FUZZED = ['shared', 'streams']

function parse(args) {
  const wanted = { seconds: DEFAULT_SECONDS, names: [] }
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--seconds') wanted.seconds = Number(args[++i])
    else wanted.names.push(args[i])
  }
  const unknown = wanted.names.find((name) => !(name in FUZZERS))
  if (unknown !== undefined || !(wanted.seconds > 0)) {
    console.error('usage: npm run fuzz -- [--seconds N] [decode|open|json]')
    exit(2)
  }
  if (wanted.names.length === 0) wanted.names = Object.keys(FUZZERS)
  return wanted
}

/** The first compiler that can link a fuzzer, or undefined. */
function findCompiler() {
  const folder = mkdtempSync(join(tmpdir(), 'durlog-fuzz-probe-'))
  const probe = join(folder, 'probe.cc')
  writeFileSync(probe, 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
  const candidates = [
    env.CXX,
    'clang++',
    ...[22, 21, 20, 19, 18, 17, 16, 15, 14].map((version) => `clang++-${version}`),
  ]
  const found = candidates
    .filter((name) => name !== undefined)
    .find((name) => spawnSync(name, ['-fsanitize=fuzzer,address,undefined', probe, '-o', `${probe}.out`]).status === 0)
  rmSync(folder, { recursive: true })
  return found
}

const { seconds, names } = parse(argv.slice(2))
const compiler = findCompiler()
if (compiler === undefined) {
  console.log('fuzz: skipped, no clang++ here links -fsanitize=fuzzer (on Debian: clang-16 and libclang-rt-16-dev)')
  exit(0)
}
env.CXX = compiler
const { CORE_FLAGS, WARNINGS, buildProgram, simulatedCoreSources } = await import('./native-program.mjs')
const flags = [...CORE_FLAGS, ...WARNINGS, '-fno-sanitize-recover=all', '-fno-omit-frame-pointer']

async function build(name) {
  const isFuzzed = (source) => !NOT_FUZZED.some((layer) => source.startsWith(`src-native/${layer}/`))
  const core = simulatedCoreSources().filter(isFuzzed)
  const entry = 'test/fuzz/entry.cc'
  const target = `Try${name[0].toUpperCase()}${name.slice(1)}`
  const sources = [...core, `test/fuzz/${name}_fuzzer.cc`, entry]
  const compiled = sources.map((source) => ({
    source,
    flags: [
      ...flags,
      ...(source === entry ? [`-DDURLOG_FUZZER=${target}`] : []),
      '-fsanitize=fuzzer-no-link,address,undefined',
    ],
  }))
  return buildProgram(`build/fuzz-${name}`, compiled, ['-fsanitize=fuzzer,address,undefined'])
}

/**
 * Resolves with true if the fuzzer `name` finds no failure. A long run prints its progress, a short one only its
 * result.
 */
async function run(name, program) {
  const found = `build/fuzz/${name}`
  mkdirSync(found, { recursive: true })
  const limits = [`-max_total_time=${seconds}`, `-max_len=${FUZZERS[name]}`, '-timeout=20', '-rss_limit_mb=1024']
  const reports = [`-artifact_prefix=${found}-`, '-print_final_stats=1']
  const stdio = ['ignore', 'inherit', seconds > DEFAULT_SECONDS ? 'inherit' : 'pipe']
  const child = spawn(program, [found, `test/fuzz/corpus/${name}`, ...limits, ...reports], { stdio })
  let printed = ''
  child.stderr?.on('data', (text) => {
    printed += text
  })
  const [status] = await once(child, 'close')
  console.log(`fuzz ${name}: ${seconds} s\n${status === 0 ? printed.match(/^stat::.*$/gm)?.join('\n') : printed}`)
  return status === 0
}

try {
  // Built one after the other, because they share most objects.
  const programs = []
  for (const name of names) programs.push(await build(name))
  const results = await Promise.all(names.map((name, i) => run(name, programs[i])))
  exit(results.every(Boolean) ? 0 : 1)
} catch (error) {
  console.error(error.stderr ?? error)
  exit(1)
}
