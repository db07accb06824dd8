/** The command `durlog bench`: selects suites, runs them on a disk, and prints their results. */
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { type Command, Option } from 'commander'
import { addJson } from '#terminal/arguments.js'
import { ExitCode } from '#terminal/exit-codes.js'
import { addHelpSection } from '#terminal/help.js'
import { InputError } from '#terminal/input-error.js'
import { writeJson, writeOut } from '#terminal/output.js'
import { type Progress, startProgress } from '#terminal/progress.js'
import { packageVersion } from '#terminal/version.js'
import { baselinesSupported, MISSING_BASELINES } from './harness/baselines.js'
import { IMAGE_FILE_SYSTEMS, type ImageFileSystem, withImage } from './harness/fs-image.js'
import { describeMachine } from './harness/machine.js'
import { disturbances, lookAtOtherLoad, type OtherLoad } from './harness/other-load.js'
import type { Suite, SuiteContext } from './harness/suite.js'
import { REPORT_VERSION, type Report, type SuiteResult, type TableResult } from './report/report.js'
import { formatFindings, formatHeading, formatMachine, formatResult } from './report/text.js'
import { DEFAULT_SUITES, suites } from './suites/index.js'

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
  if (wanted.delete('all')) for (const { name } of suites) wanted.add(name)
  for (const name of wanted) {
    if (!suites.some((suite) => suite.name === name)) {
      const known = suites.map((suite) => suite.name).join(', ')
      throw new InputError(`there is no suite "${name}"; there are ${known}`, ExitCode.usage)
    }
  }
  return suites.filter(({ name }) => wanted.has(name))
}

/** Shows the progress bar and the tables of a suite while it runs. */
class Stage implements SuiteContext {
  readonly dir: string
  readonly quick: boolean
  readonly big: boolean
  readonly tables: TableResult[] = []
  readonly #silent: boolean
  readonly #firstLoad: OtherLoad | undefined
  #label = ''
  #steps = 0
  #started = 0
  #done = 0
  #progress: Progress | undefined

  constructor(dir: string, flags: BenchFlags, firstLoad: OtherLoad | undefined) {
    this.dir = dir
    this.#firstLoad = firstLoad
    this.quick = flags.quick === true
    this.big = flags.big === true
    this.#silent = flags.json === true
  }

  async disturbances(): Promise<string[]> {
    const loads = [this.#firstLoad, await lookAtOtherLoad()].filter((load) => load !== undefined)
    const most = loads.sort((a, b) => disturbances(b).length - disturbances(a).length)[0]
    return most === undefined ? [] : disturbances(most)
  }

  async plan(label: string, steps: number): Promise<void> {
    this.stop()
    this.#label = label
    this.#steps = steps
    this.#done = 0
    this.#started = performance.now()
    this.#progress = startProgress(label, steps, false, this.#started)
  }

  // An arrow function, because suites pass it as a callback.
  readonly step = (): void => {
    this.#done += 1
    this.#progress?.update(this.#done)
  }

  async add(table: TableResult): Promise<void> {
    this.tables.push(table)
    if (this.#silent) return
    // Remove the progress bar before the table is printed.
    this.stop()
    await writeOut(formatResult(table))
    this.#progress = startProgress(this.#label, this.#steps, false, this.#started)
    this.#progress.update(this.#done)
  }

  stop(): void {
    this.#progress?.stop()
    this.#progress = undefined
  }
}

async function runSuite({ name, title, run: measure }: Suite, stage: Stage, flags: BenchFlags): Promise<SuiteResult> {
  if (!flags.json) await writeOut(formatHeading(title))
  try {
    const findings = await measure(stage)
    stage.stop()
    if (!flags.json) await writeOut(formatFindings(findings))
    return { name, title, tables: stage.tables, findings }
  } finally {
    stage.stop()
  }
}

/** Runs the suites on `dir`. Prints each table when it is complete, unless the option --json is given. */
async function runOn(dir: string, chosen: readonly Suite[], flags: BenchFlags): Promise<Report> {
  await mkdir(dir, { recursive: true })
  const started = Date.now()
  const machine = describeMachine(dir)
  const otherLoad = await lookAtOtherLoad()
  const notes = [
    ...(otherLoad === undefined ? [] : disturbances(otherLoad).map((text) => `${text}: figures vary`)),
    ...(baselinesSupported() ? [] : [MISSING_BASELINES]),
  ]
  if (!flags.json) await writeOut(formatMachine(machine) + formatFindings(notes))
  const results: SuiteResult[] = []
  for (const suite of chosen) results.push(await runSuite(suite, new Stage(dir, flags, otherLoad), flags))
  return {
    version: REPORT_VERSION,
    durlog: packageVersion(),
    startedAt: new Date(started).toISOString(),
    quick: flags.quick === true,
    elapsedMs: Date.now() - started,
    machine,
    ...(otherLoad !== undefined && { otherLoad }),
    notes,
    suites: results,
  }
}

/** Asks the user before ten gigabytes are written. Returns whether to write them. */
async function askForBig(chosen: readonly Suite[], flags: BenchFlags): Promise<boolean> {
  if (flags.big) return true
  const watched = process.stdin.isTTY === true && process.stdout.isTTY === true
  if (flags.quick || flags.json || !watched || !chosen.some(({ name }) => name === 'overwrite')) return false
  const prompt = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await prompt.question('overwrite: also write 10 GiB in 4 KiB steps? [y/N] ')
  prompt.close()
  return /^y(es)?$/i.test(answer.trim())
}

async function run(names: string[], given: BenchFlags): Promise<void> {
  const chosen = chooseSuites(names, given.vs === true)
  const flags = { ...given, big: await askForBig(chosen, given) }
  // The reader of a pipe may close it, which each write reports. Without a listener, the event would end the process
  // too.
  process.stdout.on('error', () => {})
  const dir = resolve(flags.dir ?? tmpdir())
  const report = flags.fsImage
    ? await withImage(flags.fsImage, dir, flags.big ? 'big' : flags.quick ? 'quick' : 'full', (mounted) =>
        runOn(mounted, chosen, flags),
      )
    : await runOn(dir, chosen, flags)
  if (flags.html) {
    const { readChartLibrary, renderHtml } = await import('./report/html.js')
    const library = await readChartLibrary(new URL('./report/', import.meta.url))
    await writeFile(flags.html, renderHtml(report, library))
  }
  if (flags.json) await writeJson(report)
  else
    await writeOut(`\ntook ${(report.elapsedMs / 1000).toFixed(1)} s${flags.html ? `; ${flags.html} written` : ''}\n`)
}

export function register(command: Command): void {
  command
    .description(
      'Measure durlog on this disk and compare it with raw system calls, which C++ makes in the same run on Linux with glibc. Default suites: ' +
        `${DEFAULT_SUITES.join(', ')}.`,
    )
    .argument('[suite...]', 'suites to run, or "all"')
    .option('--quick', 'shorter measurements, half a minute for each suite')
    .option('--dir <dir>', 'measure the disk that holds this folder', tmpdir())
    .option('--html <file>', 'write a self-contained page with charts')
    .addOption(
      new Option('--fs-image <type>', 'create this file system in an image file and measure it (root)').choices(
        IMAGE_FILE_SYSTEMS,
      ),
    )
    .option('--vs', 'compare with lmdb, better-sqlite3 and other alternatives that are installed')
    .option('--big', 'include measurements that write ten gigabytes')
  addJson(command).action(run)
  addHelpSection(
    command,
    'Suites',
    suites.map(({ name, summary }) => [name, summary] as const),
  )
}
