/** `durlog bench`: which suites, on which disk, shown how. */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { addJson } from '../cli/arguments.js'
import { ExitCode } from '../cli/exit-codes.js'
import { InputError } from '../cli/failure.js'
import { writeJson, writeOut } from '../cli/output.js'
import { startProgress } from '../cli/progress.js'
import { IMAGE_FILE_SYSTEMS, type ImageFileSystem, withImage } from './fs-image.js'
import { describeMachine } from './machine.js'
import { REPORT_VERSION, type Report, type SuiteResult } from './report.js'
import type { Suite, SuiteContext } from './suite.js'
import { DEFAULT_SUITES, suites } from './suites/index.js'
import { formatMachine, formatSuite } from './terminal.js'

interface BenchFlags {
  quick?: boolean
  json?: boolean
  dir?: string
  html?: string
  fsImage?: ImageFileSystem
  vs?: boolean
  big?: boolean
}

function chooseSuites(names: readonly string[], vs: boolean): Suite[] {
  const wanted = new Set(names.length > 0 ? names : vs ? [] : DEFAULT_SUITES)
  if (vs) wanted.add('vs')
  for (const name of wanted) {
    if (!suites.some((suite) => suite.name === name)) {
      const known = suites.map((suite) => suite.name).join(', ')
      throw new InputError(`there is no suite "${name}"; there are ${known}`, ExitCode.usage)
    }
  }
  return suites.filter(({ name }) => wanted.has(name))
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

async function runSuite(suite: Suite, dir: string, flags: BenchFlags): Promise<SuiteResult> {
  let stop: (() => void) | undefined
  let update: ((done: number) => void) | undefined
  let done = 0
  const context: SuiteContext = {
    dir,
    quick: flags.quick === true,
    big: flags.big === true,
    async plan(label, steps) {
      stop?.()
      done = 0
      const progress = await startProgress(label, steps, false)
      stop = () => progress.stop()
      update = (count) => progress.update(count)
    },
    step() {
      done += 1
      update?.(done)
    },
  }
  try {
    return await suite.run(context)
  } finally {
    stop?.()
  }
}

/** Runs the suites on `dir` and tells as it goes, unless JSON is wanted. */
async function runOn(dir: string, chosen: readonly Suite[], flags: BenchFlags): Promise<Report> {
  await mkdir(dir, { recursive: true })
  const started = Date.now()
  const machine = describeMachine(dir)
  if (!flags.json) await writeOut(formatMachine(machine))
  const results: SuiteResult[] = []
  for (const suite of chosen) {
    const result = await runSuite(suite, dir, flags)
    results.push(result)
    if (!flags.json) await writeOut(formatSuite(result))
  }
  return {
    version: REPORT_VERSION,
    durlog: version(),
    startedAt: new Date(started).toISOString(),
    quick: flags.quick === true,
    elapsedMs: Date.now() - started,
    machine,
    suites: results,
  }
}

async function run(names: string[], flags: BenchFlags): Promise<void> {
  const chosen = chooseSuites(names, flags.vs === true)
  const dir = resolve(flags.dir ?? tmpdir())
  const report = flags.fsImage
    ? await withImage(flags.fsImage, dir, (mounted) => runOn(mounted, chosen, flags))
    : await runOn(dir, chosen, flags)
  if (flags.html) {
    const { renderHtml } = await import('./html.js')
    await writeFile(flags.html, await renderHtml(report))
  }
  if (flags.json) await writeJson(report)
  else
    await writeOut(`\ntook ${(report.elapsedMs / 1000).toFixed(1)} s${flags.html ? `; ${flags.html} written` : ''}\n`)
}

export function registerBench(program: Command): void {
  const list = suites.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`).join('\n')
  const command = program
    .command('bench')
    .summary('measure every strategy on this disk')
    .description(
      'Measure durlog on this disk, beside the raw system calls made by C++ in the same run. Without a suite: ' +
        `${DEFAULT_SUITES.join(', ')}.`,
    )
    .argument('[suite...]', 'what to measure')
    .option('--quick', 'a first look, half a minute for each suite')
    .option('--dir <dir>', 'measure the disk that this folder is on', tmpdir())
    .option('--html <file>', 'write a page with charts, complete in itself')
    .addOption(
      new Option('--fs-image <type>', 'measure a file system made for it in an image file (root)').choices(
        IMAGE_FILE_SYSTEMS,
      ),
    )
    .option('--vs', 'beside lmdb, better-sqlite3 and others, where they are installed')
    .option('--big', 'also what writes ten gigabytes')
    .addHelpText('after', `\nSuites:\n${list}`)
  addJson(command).action(run)
}
