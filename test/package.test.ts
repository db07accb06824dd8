import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const ROOT = path('..')
/** The binary for this system. The environment names it on a system without a published one. */
const BINARY = process.env['DURLOG_BINARY'] ?? join(ROOT, 'build/Release/durlog.node')
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** The output of `program`, run as a CommonJS script in `cwd`. */
function run(program: string, cwd: string, environment: Record<string, string> = {}): string {
  const env = { ...process.env, ...environment }
  return execFileSync(process.execPath, ['--no-warnings', '-e', program], { cwd, env }).toString().trim()
}

/** A copy of the built package without binaries, as node_modules/durlog of a folder. */
function packageWithoutBinaries(): { project: string; installed: string } {
  const project = scratchDir()
  const installed = join(project, 'node_modules/durlog')
  mkdirSync(installed, { recursive: true })
  cpSync(path('../dist'), join(installed, 'dist'), { recursive: true })
  cpSync(path('../package.json'), join(installed, 'package.json'))
  return { project, installed }
}

test.each([
  ['required.cjs', 'from CommonJS ERR_DURLOG_RECORD_EMPTY\n'],
  ['imported.mjs', 'from an ES module ERR_DURLOG_RECORD_EMPTY\n'],
])('the built package loads and appends from %s', (fixture, printed) => {
  const out = execFileSync(process.execPath, ['--no-warnings', path(`fixtures/${fixture}`), scratchDir()])
  expect(out.toString()).toBe(printed)
})

test('a clone without its build tools prints what to run if it is installed by path', () => {
  const clone = scratchDir()
  mkdirSync(join(clone, 'scripts'))
  for (const file of ['package.json', 'scripts/prepare.mjs']) cpSync(join(ROOT, file), join(clone, file))
  const { status, stderr } = spawnSync(process.execPath, ['scripts/prepare.mjs'], { cwd: clone, encoding: 'utf8' })
  expect(stderr.split('\n')).toEqual([
    `durlog: the clone in ${realpathSync(clone)} is not built, and its build tools are not installed.`,
    'Run "npm ci && npm run build" in that folder, then repeat the install.',
    '',
  ])
  expect(status).toBe(1)
})

test('every file that README links to is in the package', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const windows = process.platform === 'win32'
  const [packed] = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', shell: windows })) as [
    { files: { path: string }[] },
  ]
  const files = packed.files.map((file) => file.path)
  const links = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/\]\((?!\w+:|#)([^)#]+)/g)]
  expect(links.length).toBeGreaterThan(5)
  expect(
    links.map(([, link]) => link).filter((link) => !files.some((file) => file.startsWith(link as string))),
  ).toEqual([])
})

test('its types serve ES modules and CommonJS, and refuse wrong options', () => {
  const tsc = path('../node_modules/typescript/bin/tsc')
  expect(execFileSync(process.execPath, [tsc, '-p', path('types/tsconfig.json')]).toString()).toBe('')
})

describe('the module', () => {
  test('is one instance with the same names, required and imported', () => {
    const program = `
      const required = require('durlog')
      import('durlog').then((imported) => {
        const names = Object.keys(required).sort()
        const same = names.every((name) => imported[name] === required[name])
        const own = Object.keys(imported).filter((name) => !['default', 'module.exports', '__esModule'].includes(name))
        console.log(same, names.join() === own.sort().join(), names.includes('open'))
      })`
    expect(run(program, ROOT)).toBe('true true true')
  })

  test.each(["Promise.resolve(require('durlog'))", "import('durlog')"])(
    '%s loads no dependency, nothing of the command line or the bench, and no module of Node that only reading needs',
    (load) => {
      const program = `
        ${load}.then(() => {
          const { relative, sep } = require('node:path')
          const files = Object.keys(require.cache).map((file) => relative(process.cwd(), file).split(sep).join('/'))
          const own = new RegExp('^dist/((native|options|reader|cursor|support|log(/(append|maintenance))?)/)?[a-z-]+[.]js$')
          const addons = process.report.getReport().sharedObjects.filter((file) => file.endsWith('.node'))
          const builtins = ['worker_threads', 'fs/promises', 'timers/promises', 'child_process', 'http']
          console.log(JSON.stringify({
            files: files.length > 10,
            others: files.filter((file) => !own.test(file)),
            addons: addons.length,
            builtins: builtins.filter((name) => process.moduleLoadList.includes('NativeModule ' + name)),
          }))
        })`
      expect(JSON.parse(run(program, ROOT))).toEqual({ files: true, others: [], addons: 1, builtins: [] })
    },
  )

  test("of durlog/pino loads no other package, pino's included, and is the transport itself", () => {
    const program = `
      const transport = require('durlog/pino')
      const { destination } = transport
      const { relative } = require('node:path')
      const files = Object.keys(require.cache).map((file) => relative(process.cwd(), file))
      console.log(transport.name, destination.name, files.filter((file) => !/^dist|[.]node$/.test(file)))`
    expect(run(program, ROOT)).toBe('transport destination []')
  })

  test('of durlog/jetstream loads no other package before it ships', () => {
    const program = `
      const { ship } = require('durlog/jetstream')
      const { relative } = require('node:path')
      const files = Object.keys(require.cache).map((file) => relative(process.cwd(), file))
      console.log(ship.name, files.filter((file) => !/^dist|[.]node$/.test(file)))`
    expect(run(program, ROOT)).toBe('ship []')
  })

  test('of durlog/archive loads no other package before it archives', () => {
    const program = `
      const { archive } = require('durlog/archive')
      const { relative } = require('node:path')
      const files = Object.keys(require.cache).map((file) => relative(process.cwd(), file))
      console.log(archive.name, files.filter((file) => !/^dist|[.]node$/.test(file)))`
    expect(run(program, ROOT)).toBe('archive []')
  })

  test('of durlog/streams loads no other package, and durlog loads no file of it', () => {
    const program = `
      require('durlog')
      const { relative } = require('node:path')
      const loaded = () => Object.keys(require.cache).map((file) => relative(process.cwd(), file))
      const before = loaded().filter((file) => /^dist.streams[^-]/.test(file))
      const { openStreams } = require('durlog/streams')
      console.log(before, openStreams.name, loaded().filter((file) => !/^dist|[.]node$/.test(file)))`
    expect(run(program, ROOT)).toBe('[] openStreams []')
  })

  test('of durlog/http loads no other package, and durlog/streams loads no file of it', () => {
    const program = `
      require('durlog/streams')
      const { relative } = require('node:path')
      const loaded = () => Object.keys(require.cache).map((file) => relative(process.cwd(), file))
      const before = loaded().filter((file) => /^dist.http[^-]/.test(file))
      const { streamsHandler } = require('durlog/http')
      console.log(before, streamsHandler.name, loaded().filter((file) => !/^dist|[.]node$/.test(file)))`
    expect(run(program, ROOT)).toBe('[] streamsHandler []')
  })

  test('names the optional package that is missing, with one code for subpaths and commands', () => {
    const { project } = packageWithoutBinaries()
    const program = `
      const { open } = require('durlog')
      const { ship } = require('durlog/jetstream')
      const { archive } = require('durlog/archive')
      const { AccessLog } = require('./node_modules/durlog/dist/cli/access-log.js')
      const tell = ({ code, message }) => console.log(code, message)
      const bucket = { bucket: 's3://b', endpoint: 'http://127.0.0.1:1', credentials: { accessKeyId: 'a', secretAccessKey: 's' } }
      open('log').then(async (log) => {
        await log.append('x')
        for (const start of [() => ship(log, { stream: 'S' }), () => archive(log, bucket)])
          await new Promise((done) => start().on('error', (error) => done(tell(error))))
        await AccessLog.start(() => {}).catch(tell)
        await log.close()
      })`
    const lines = run(program, project, { DURLOG_BINARY: BINARY }).split('\n')
    const packages = ['@nats-io/jetstream @nats-io/transport-node', 'aws4', 'pino']
    const installs = packages.map((name) =>
      expect.stringMatching(`^ERR_DURLOG_UNSUPPORTED .*: npm install ${name} \\(`),
    )
    expect(lines).toEqual(installs)
  })

  test('leaves the settings of the diagnostic report unchanged', () => {
    const program = `
      const settings = () => JSON.stringify([process.report.excludeNetwork, Object.keys(process.report)])
      const before = settings()
      require('durlog')
      console.log(settings() === before)`
    expect(run(program, ROOT)).toBe('true')
  })
})

describe('the binary', () => {
  test('that is missing is reported with the existing ones, how to build it and where to put it', () => {
    const { project, installed } = packageWithoutBinaries()
    mkdirSync(join(installed, 'prebuilds/plan9-x64'), { recursive: true })
    const program = `try { require('durlog') } catch (error) { console.log(error.code, error.message) }`
    const told = run(program, project, { DURLOG_BINARY: '' })
    expect(told).toMatch(/^ERR_DURLOG_NO_BINARY no durlog binary for \w+-\w+/)
    expect(told).toContain('the package has plan9-x64 in ')
    expect(told).toContain('npm ci && npm run build:native')
    expect(told).toMatch(/put build\/Release\/durlog\.node at \S+durlog\.node or set DURLOG_BINARY/)
  })

  test('that DURLOG_BINARY names is loaded', () => {
    const { project } = packageWithoutBinaries()
    const program = `require('durlog').open('log').then((log) => log.append('x')).then((seq) => console.log(seq))`
    expect(run(program, project, { DURLOG_BINARY: BINARY })).toBe('0')
  })

  test('that cannot be loaded is reported with the reason', () => {
    const { project } = packageWithoutBinaries()
    const binary = join(project, 'broken.node')
    writeFileSync(binary, 'no library')
    const program = `try { require('durlog') } catch (error) { console.log(error.code, error.path, error.message) }`
    const told = run(program, project, { DURLOG_BINARY: binary })
    expect(told).toContain(`ERR_DURLOG_NO_BINARY ${binary} can't load ${binary} (DURLOG_BINARY names it): `)
  })

  test('of a subpath is required by a literal path, and the subpath is the same library', () => {
    const { project, installed } = packageWithoutBinaries()
    const folder = join(installed, 'prebuilds/linux-x64')
    mkdirSync(folder, { recursive: true })
    cpSync(BINARY, join(folder, 'durlog.node'))
    const program = `
      const library = require('durlog/linux-x64')
      library.open('log').then((log) => log.append('x')).then((seq) => {
        console.log(seq, library === require('durlog'))
      })`
    expect(run(program, project, { DURLOG_BINARY: '' })).toBe('0 true')
    const source = readFileSync(join(installed, 'dist/targets/linux-x64.js'), 'utf8')
    expect(source).toContain(`require('../../prebuilds/linux-x64/durlog.node')`)
  })

  test('of a subpath that cannot be loaded is reported with the reason and the subpath to import', () => {
    const { project, installed } = packageWithoutBinaries()
    const folder = join(installed, 'prebuilds/linux-x64')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'durlog.node'), 'no library')
    const program = (name: string): string =>
      `try { require('durlog/${name}') } catch (error) { console.log(error.name, error.code, error.message) }`
    for (const name of ['linux-x64', 'win32-arm64']) {
      const told = run(program(name), project, { DURLOG_BINARY: '' })
      expect(told).toMatch(/^DurlogError ERR_DURLOG_NO_BINARY can't load the binary of durlog\/\S+: .*import "durlog"/s)
    }
    expect(run(program('win32-arm64'), project, { DURLOG_BINARY: BINARY })).toBe('')
  })

  test('has a subpath for every target that is built', () => {
    const built = readdirSync(path('../dist/targets')).filter((file) => file.endsWith('.js'))
    const names = built.map((file) => file.slice(0, -'.js'.length)).sort()
    expect(names).toHaveLength(8)
    const others = ['.', './package.json', './pino', './jetstream', './archive', './streams', './http']
    const subpaths = Object.keys(manifest.exports).filter((name) => !others.includes(name))
    expect(subpaths.sort()).toEqual(names.map((name) => `./${name}`))
    expect(Object.keys(manifest.typesVersions['*']).sort()).toEqual(
      [...names, 'pino', 'jetstream', 'archive', 'streams', 'http'].sort(),
    )
  })
})
