/** Servers of streams with nginx as a proxy, configured as in docs/SERVE.md. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf } from '../fixtures/document-blocks.js'
import { durlogServe } from '../fixtures/durlog-serve.js'
import { freePort } from '../fixtures/nats.mjs'
import { scratchDir } from '../fixtures/scratch.js'

const missingNginx = spawnSync('nginx', ['-v']).error === undefined ? '' : '(skipped: nginx is not installed)'
const JSON_TYPE = { 'content-type': 'application/json' }

/** Starts nginx with `config` in its block `http`. */
async function startNginx(config: string): Promise<void> {
  const dir = scratchDir()
  mkdirSync(join(dir, 'temp'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path temp/${name};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; ${user} pid nginx.pid; error_log stderr; events {} http { access_log off; ${temporary.join(' ')} ${config} }`,
  )
  const nginx = spawn('nginx', ['-p', dir, '-c', 'nginx.conf'], { stdio: 'ignore' })
  onTestFinished(async () => {
    nginx.kill('SIGTERM')
    if (nginx.exitCode === null) await once(nginx, 'exit')
  })
}

test.skipIf(missingNginx !== '')(
  `nginx divides streams between two servers, and each append is stored once despite kill -9 of one ${missingNginx}`,
  async () => {
    const dirs = ['one', 'two'].map((name) => join(scratchDir(), name))
    const servers = await Promise.all(dirs.map((dir) => durlogServe(dir)))
    const [block] = blocksOf('docs/SERVE.md').filter(
      ({ section, language }) => section === 'Several folders' && language === 'nginx',
    )
    const port = await freePort()
    const ports = [servers[0]?.port, servers[1]?.port]
    const config = block?.code
      .replace('8080', `127.0.0.1:${port}`)
      .replace('4437', String(ports[0]))
      .replace('4438', String(ports[1]))
    await startNginx(config ?? '')
    /** Repeats a request until it is answered. Returns the body of the answer. */
    const call = async (path: string, method = 'GET', headers = {}, body?: string): Promise<string> => {
      for (;;) {
        try {
          const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
          sent.end(body)
          const [answer] = await once(sent, 'response')
          const content = await text(answer)
          if (answer.statusCode < 300) return content
          if (answer.statusCode !== 502) throw new Error(`${method} ${path}: ${answer.statusCode} ${content}`)
        } catch (error) {
          if (!/^(ECONN|EPIPE)/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
        }
        await setTimeout(10)
      }
    }
    const names = Array.from({ length: 8 }, (_, at) => `/session-${at}/messages`)
    for (const name of names) await call(name, 'PUT', JSON_TYPE)
    const append = (name: string, seq: number) =>
      call(
        name,
        'POST',
        { ...JSON_TYPE, 'producer-id': 'p', 'producer-epoch': '0', 'producer-seq': String(seq) },
        String(seq),
      )
    const round = (seq: number) => Promise.all(names.map((name) => append(name, seq)))
    const counts = await Promise.all(
      ports.map(async (each) => (await (await fetch(`http://127.0.0.1:${each}/__ds/streams`)).json()).streams.length),
    )
    expect(counts.every((count) => count > 0) && counts[0] + counts[1]).toBe(names.length)

    await round(0)
    const events = request({ host: '127.0.0.1', port, path: `${names[0]}?offset=-1&live=sse`, agent: false })
    events.end()
    const [answer] = await once(events, 'response')
    const [event] = await once(answer, 'data')
    expect(String(event)).toContain('data:[0]')
    events.destroy()

    const during = round(1)
    servers[0]?.child.kill('SIGKILL')
    await servers[0]?.exited
    await durlogServe(dirs[0] as string, '--port', String(ports[0]))
    await during
    await round(2)
    for (const name of names) expect([name, await call(name)]).toEqual([name, '[0,1,2]'])
    await call(names[0] as string, 'POST', { ...JSON_TYPE, 'stream-closed': 'true' }, '3')
    expect(await call(names[0]?.replace('session', '%73ession') as string)).toBe('[0,1,2,3]')
  },
)

test.skipIf(missingNginx !== '')(
  `a server behind nginx is used by the name that it allows, and by no other ${missingNginx}`,
  async () => {
    const server = await durlogServe(join(scratchDir(), 'streams'), '--allow-host', 'streams.example')
    const [block] = blocksOf('docs/SERVE.md').filter(
      ({ section, language }) => section === 'Proxies' && language === 'nginx',
    )
    const port = await freePort()
    const location = block?.code.replace('4437', String(server.port))
    await startNginx(`server { listen 127.0.0.1:${port}; ${location} }`)
    const statusOf = async (host: string): Promise<number> => {
      const sent = request({ host: '127.0.0.1', port, path: '/healthz', headers: { host }, agent: false })
      sent.end()
      const [answer] = await once(sent, 'response')
      answer.resume()
      return answer.statusCode
    }
    // nginx does not listen at once.
    await expect.poll(() => statusOf('streams.example').catch(() => 0)).toBe(200)
    expect(await statusOf('evil.example')).toBe(403)
  },
)
