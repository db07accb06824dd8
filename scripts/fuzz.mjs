// Fuzzes the core: npm run fuzz -- [--seconds N] [decode|open]. Needs a clang++ with libFuzzer and is
// skipped without one. New findings go to build/fuzz; the small corpus is in test/fuzz.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, env, exit } from 'node:process'

const FUZZERS = { decode: 4096, open: 16384 }
const DEFAULT_SECONDS = 60

function parse(args) {
  const wanted = { seconds: DEFAULT_SECONDS, names: [] }
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--seconds') wanted.seconds = Number(args[++i])
    else wanted.names.push(args[i])
  }
  const unknown = wanted.names.find((name) => !(name in FUZZERS))
  if (unknown !== undefined || !(wanted.seconds > 0)) {
    console.error('usage: npm run fuzz -- [--seconds N] [decode|open]')
    exit(2)
  }
  if (wanted.names.length === 0) wanted.names = Object.keys(FUZZERS)
  return wanted
}

/** The first compiler that links a fuzzer, or nothing. */
function findCompiler() {
  const probe = join(tmpdir(), `durlog-fuzz-probe-${process.pid}.cc`)
  writeFileSync(probe, 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
  const candidates = [
    env.CXX,
    'clang++',
    ...[22, 21, 20, 19, 18, 17, 16, 15, 14].map((version) => `clang++-${version}`),
  ]
  return candidates
    .filter((name) => name !== undefined)
    .find((name) => spawnSync(name, ['-fsanitize=fuzzer,address,undefined', probe, '-o', `${probe}.out`]).status === 0)
}

const { seconds, names } = parse(argv.slice(2))
const compiler = findCompiler()
if (compiler === undefined) {
  console.log('fuzz: skipped, no clang++ here links -fsanitize=fuzzer (on Debian: clang-16 and libclang-rt-16-dev)')
  exit(0)
}
env.CXX = compiler
const { CORE_FLAGS, WARNINGS, buildProgram, coreSources } = await import('./native-program.mjs')
const flags = [...CORE_FLAGS, ...WARNINGS, '-fno-sanitize-recover=all', '-fno-omit-frame-pointer']
for (const name of names) {
  const program = await buildProgram(
    `build/fuzz-${name}`,
    [...coreSources(), `test/fuzz/${name}_fuzzer.cc`].map((source) => ({
      source,
      flags: [...flags, '-fsanitize=fuzzer-no-link,address,undefined'],
    })),
    ['-fsanitize=fuzzer,address,undefined'],
  ).catch((error) => {
    console.error(error.stderr ?? error)
    exit(1)
  })
  const found = `build/fuzz/${name}`
  mkdirSync(found, { recursive: true })
  const limits = [`-max_total_time=${seconds}`, `-max_len=${FUZZERS[name]}`, '-timeout=20', '-rss_limit_mb=1024']
  const reports = [`-artifact_prefix=${found}-`, '-print_final_stats=1']
  console.log(`fuzz ${name}: ${seconds} s`)
  // A long run prints its progress, a short one only its result.
  const stdio = seconds > 60 ? 'inherit' : 'pipe'
  const args = [found, `test/fuzz/corpus/${name}`, ...limits, ...reports]
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', stdio })
  if (stderr) console.log(status === 0 ? stderr.match(/^stat::.*$/gm)?.join('\n') : stderr)
  if (status !== 0) exit(1)
}
