// Frameworks that bundle a server's code or replace its globals. For each of them, a small program that uses the
// installed package is configured as docs/INSTALL.md describes, built and run. The result is "yes" or "no".
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tool, toolVersion } from './tools.mjs'

const APPEND = `
const log = await open(process.env.LOG)
const seq = await log.append('from a framework')
await log.close()
`
const IN_JSDOM = `
const { JSDOM } = require('jsdom')
const { window } = new JSDOM('', { url: 'http://localhost' })
for (const name of ['window', 'document', 'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'Event', 'AbortController'])
  globalThis[name] = name === 'window' ? window : window[name]
const { open } = require('durlog')
;(async () => {${APPEND}console.log('seq', seq); window.close() })()
`
const VITE_CONFIG = `export default { ssr: { external: ['durlog'] }, build: { ssr: 'entry.mjs', outDir: 'vite-out' }, logLevel: 'error' }\n`
const NEXT_FILES = {
  'next.config.mjs': `export default { serverExternalPackages: ['durlog'], output: 'export', typescript: { ignoreBuildErrors: true } }\n`,
  'app/layout.js': `export default function Layout({ children }) { return <html><body>{children}</body></html> }\n`,
  'app/page.js': `import { open } from 'durlog'
export default async function Page() {${APPEND}  return <p>seq {String(seq)}</p>
}
`,
}

/** The route of docs/SERVE.md, with its folder in `LOG`. */
const [, STREAMS_ROUTE] = /```ts\n(\/\/ app\/v1[^`]*)```/.exec(readFileSync('docs/SERVE.md', 'utf8'))

/**
 * Starts the standalone server without the project's packages, appends a message through the route, and starts the
 * server again after kill -9. Prints the page and the message.
 */
const VISIT_STANDALONE = `import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync } from 'node:fs'
renameSync('node_modules', 'hidden')
const url = 'http://localhost:4438'
const headers = { 'content-type': 'application/json' }
async function serve(visit) {
  const server = spawn(process.execPath, ['.next/standalone/server.js'], { env: { ...process.env, PORT: '4438' }, stdio: 'pipe' })
  const ended = once(server, 'exit')
  server.stderr.pipe(process.stderr)
  const lines = server.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })
  for await (const text of lines) if (text.includes('Ready')) break
  await visit().catch(console.error)
  server.kill('SIGKILL')
  await ended
}
const text = async (path, init) => (await fetch(url + path, init)).text()
await serve(async () => {
  await text('/v1/stream/chat', { method: 'PUT', headers })
  await text('/v1/stream/chat', { method: 'POST', headers, body: '"kept"' })
})
await serve(async () => {
  const [page, messages] = [await text('/'), await text('/v1/stream/chat')]
  console.log(messages, /seq (<!-- -->)?0/.test(page) && messages === '["kept"]' ? 'seq 0' : page)
})
renameSync('hidden', 'node_modules')
`

const node = () => tool('node24/bin/node')

function write(project, files) {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(project, file, '..'), { recursive: true })
    writeFileSync(join(project, file), text)
  }
}

/** Makes the packages of a suite available in the project. */
function link(project, suite, names) {
  for (const name of names)
    symlinkSync(tool(`${suite}/node_modules/${name}`), join(project, 'node_modules', name), 'dir')
}

/** Runs the commands in order until one fails, and returns the result of the last one. */
function runAll(run, project, env, ...commands) {
  let result = { passed: true, text: '' }
  for (const command of commands) if (result.passed) result = run(command, project, env)
  return result
}

const TRIALS = {
  jsdom(project, run, env) {
    link(project, 'jsdom', ['jsdom'])
    write(project, { 'jsdom.cjs': IN_JSDOM })
    return runAll(run, project, env, [node(), 'jsdom.cjs'])
  },
  vite(project, run, env) {
    write(project, {
      'entry.mjs': `import { open } from 'durlog'\n${APPEND}console.log('seq', seq)\n`,
      'vite.config.mjs': VITE_CONFIG,
    })
    const build = [node(), tool('vite/node_modules/vite/bin/vite.js'), 'build']
    return runAll(run, project, env, build, [node(), 'vite-out/entry.mjs'])
  },
  next(project, run, env) {
    write(project, NEXT_FILES)
    link(project, 'next', ['next', 'react', 'react-dom'])
    const build = [node(), tool('next/node_modules/next/dist/bin/next'), 'build', '--webpack']
    const show = `console.log(/seq (<!-- -->)?0/.test(require('node:fs').readFileSync('out/index.html', 'utf8')) ? 'seq 0' : 'no seq')`
    return runAll(run, project, env, build, [node(), '-e', show])
  },
  standalone(project, run, env) {
    write(project, { 'next.config.mjs': NEXT_FILES['next.config.mjs'].replace("'export'", "'standalone'") })
    write(project, { 'app/page.js': `${NEXT_FILES['app/page.js']}export const dynamic = 'force-dynamic'\n` })
    const route = STREAMS_ROUTE.replace("'/var/lib/app/sessions'", JSON.stringify(`${env.LOG}-streams`))
    write(project, { 'app/v1/stream/[...name]/route.ts': route, 'visit.mjs': VISIT_STANDALONE })
    link(project, 'next', ['typescript', '@types'])
    const build = [node(), tool('next/node_modules/next/dist/bin/next'), 'build', '--webpack']
    return runAll(run, project, env, build, [node(), 'visit.mjs'])
  },
  bun(project, run, env) {
    write(project, { 'compiled.mjs': `import { open } from 'durlog/linux-x64'\n${APPEND}console.log('seq', seq)\n` })
    const build = [tool('bun/bin/bun'), 'build', '--compile', 'compiled.mjs', '--outfile', 'compiled']
    return runAll(run, project, env, build, ['./compiled'])
  },
}
const NAMES = {
  jsdom: `jsdom ${toolVersion('jsdom')}`,
  vite: `Vite ${toolVersion('vite')}`,
  next: `Next.js ${toolVersion('next')}`,
  standalone: `Next.js ${toolVersion('next')}, \`standalone\`, with the route of [SERVE](SERVE.md)`,
  bun: `bun build --compile, Bun ${toolVersion('bun')}`,
}

/** Returns the rows of the table and the problems found. */
export function tryFrameworks(project, work, run) {
  const problems = []
  const rows = Object.entries(TRIALS).map(([key, trial]) => {
    const name = NAMES[key]
    const env = { LOG: join(mkdtempSync(join(work, 'framework-')), 'log'), NEXT_TELEMETRY_DISABLED: '1' }
    const { passed, text } = trial(project, run, env)
    const works = passed && text.endsWith('seq 0')
    if (!works) problems.push(`${name}: ${text}\n`)
    return [name, works ? 'yes' : 'no']
  })
  return { rows, problems }
}
