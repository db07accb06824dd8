/** The page of `durlog serve --ui` in a real browser. SCREENSHOTS names a folder for screenshots. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serveStreams } from '../../src/http/index.js'
import { missingChromium, Page } from '../fixtures/chromium.js'
import { scratchStreams } from '../fixtures/streams.js'

const JSON_TYPE = { 'content-type': 'application/json' }

async function serve() {
  const { streams } = await scratchStreams()
  const server = await serveStreams(streams, { port: 0, ui: true })
  onTestFinished(() => server.close())
  const put = (name: string, type: string, body: string | Uint8Array<ArrayBuffer>) =>
    fetch(join(`${server.url}/${encodeURIComponent(name)}`).replace(':/', '://'), {
      method: 'PUT',
      headers: { 'content-type': type },
      body,
    })
  const long = { text: 'a long answer '.repeat(40), tokens: Array.from({ length: 30 }, (_, at) => at) }
  await put(
    'chat/7',
    'application/json',
    JSON.stringify([{ role: 'user', text: 'hello' }, long, ...Array(40).fill({ n: 1 })]),
  )
  await put(`sessions/${'a-name-without-a-break-'.repeat(8)}`, 'text/plain', `x${'y'.repeat(3000)}\n`)
  await put('audio', 'application/octet-stream', new Uint8Array(500).fill(0xab))
  await put('übung/☃', 'text/plain; charset=utf-8', 'täxt <b>not bold</b>')
  for (let at = 0; at < 30; at++) await put(`agents/${at}`, 'application/json', `[${at}]`)
  return server
}

const text = (selector: string): string => `document.querySelector('${selector}')?.textContent ?? ''`

test.skipIf(missingChromium !== '')(
  `the page fits into 420 pixels, has a light and a dark scheme, and shows each type of stream ${missingChromium}`,
  async () => {
    const { url } = await serve()
    for (const [width, height] of [
      [420, 800],
      [1200, 800],
    ] as const) {
      const page = await Page.open(`${url}/`, width, height)
      await expect.poll(() => page.value(text('#count'))).toBe('34 streams')
      for (const scheme of ['light', 'dark'] as const) {
        await page.scheme(scheme)
        for (const name of ['', 'chat/7', 'sessions', 'audio', 'übung/☃']) {
          if (name !== '') {
            await page.value(
              `[...document.querySelectorAll('#streams button')].find((b) => b.textContent.startsWith('${name}')).click()`,
            )
            await expect.poll(() => page.value(text('#state'))).toBe('live')
            await page.value("document.querySelector('details')?.setAttribute('open', '')")
          }
          const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
          expect([width, scheme, name, await page.value(overflow)]).toEqual([width, scheme, name, 0])
          await page.screenshot(`${width}-${scheme}-${name.slice(0, 4).replace('/', '')}`)
        }
      }
      expect(page.errors).toEqual([])
    }
  },
)

test.skipIf(missingChromium !== '')(
  `every function of the page can be used with the keyboard ${missingChromium}`,
  async () => {
    const { url } = await serve()
    const page = await Page.open(`${url}/`, 420, 800)
    const focused = () =>
      page.value<string>('document.activeElement.id || document.activeElement.textContent.slice(0, 6)')
    await expect.poll(() => page.value(text('#count'))).toBe('34 streams')
    const reach = async (wanted: string) => {
      for (let tabs = 0; tabs < 60 && (await focused()) !== wanted; tabs++) await page.press('Tab')
      expect(await focused()).toBe(wanted)
    }
    await reach('prefix')
    await page.type('chat/')
    await page.press('Enter')
    await expect.poll(() => page.value(text('#count'))).toBe('1 stream')
    await page.value("document.getElementById('jump').requestSubmit()")
    expect(await page.value(text('#error'))).toBe('choose a stream first')
    await reach('chat/7')
    await page.press('Enter')
    await expect.poll(() => page.value(text('#state'))).toBe('live')
    await page.screenshot('keyboard')
    await reach('target')
    await page.type('41')
    await page.press('Enter')
    await expect.poll(() => page.value(text('#records'))).toBe('{"n":1}')
    expect(await page.value("document.querySelector('#records li').dataset.seq")).toBe('41')
    await reach('pause')
    await page.press(' ')
    const post = { method: 'POST', headers: JSON_TYPE, body: '"<i>held back</i>"' }
    expect((await fetch(`${url}/chat/7`, post)).status).toBe(204)
    await expect.poll(() => page.value(text('#offset'))).toBe('43')
    expect(await page.value(text('#records'))).toBe('{"n":1}')
    await page.press(' ')
    expect(await page.value(text('#records'))).toBe('{"n":1}"<i>held back</i>"')
    await reach('records')
    expect(page.errors).toEqual([])
  },
)

test.skipIf(missingChromium !== '')(
  `the page shows JSON as it was stored, with long numbers and repeated names ${missingChromium}`,
  async () => {
    const { url } = await serve()
    const stored = [
      `{"id":12345678901234567890,"price":1.10,"a":1,"a":"],[\\"","more":[{}, []]}`,
      `"${'x'.repeat(130)}"`,
    ]
    await fetch(`${url}/numbers`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: `[${stored}]`,
    })
    const page = await Page.open(`${url}/#numbers`)
    const rows = "JSON.stringify([...document.querySelectorAll('#records li')].map((row) => row.textContent))"
    await expect.poll(() => page.value(text('#state'))).toBe('live')
    expect(JSON.parse(await page.value(rows))).toEqual([stored[0], `"${'x'.repeat(109)}…`])
    expect(await page.value(`indented(${JSON.stringify(stored[0])})`)).toBe(
      [
        '{',
        '  "id": 12345678901234567890,',
        '  "price": 1.10,',
        '  "a": 1,',
        '  "a": "],[\\"",',
        '  "more": [',
        '    {},',
        '    []',
        '  ]',
        '}',
      ].join('\n'),
    )
  },
)

test.skipIf(missingChromium !== '')(
  `a new list of the streams keeps the focus and the error of a stream ${missingChromium}`,
  async () => {
    const { url } = await serve()
    const page = await Page.open(`${url}/#100%`)
    await expect.poll(() => page.value(text('#error'))).toBe('the address does not name a stream')
    await expect.poll(() => page.value(text('#count'))).toBe('34 streams')
    await page.value("open('missing', '-1')")
    await page.value("document.querySelector('[data-name=audio]').focus()")
    await fetch(`${url}/a-new-one`, { method: 'PUT' })
    await page.value('list()')
    expect(await page.value(text('#count'))).toBe('35 streams')
    expect(await page.value('document.activeElement.dataset.name')).toBe('audio')
    expect(await page.value(text('#error'))).toBe('404: the stream does not exist')
    await page.value("location.hash = '#a-new-one'")
    await expect.poll(() => page.value(text('#name'))).toBe('a-new-one')
  },
)

test.skipIf(missingChromium !== '')(
  `a stream of bytes: the page reports the bytes that it does not show, and counts records and bytes ${missingChromium}`,
  async () => {
    const { streams } = await scratchStreams()
    const server = await serveStreams(streams, { port: 0, ui: true })
    onTestFinished(() => server.close())
    const stream = streams.stream('bytes')
    await stream.create({ encoding: 'buffer', values: [Buffer.alloc(2049, 7)] })
    const page = await Page.open(`${server.url}/#bytes`)
    await expect.poll(() => page.value(text('#state'))).toBe('live')
    const ending = `(${text('#records')}).slice(-25)`
    expect(await page.value(ending)).toMatch(/ 07 … and 1 more byte$/)
    await stream.appendAll([Buffer.alloc(3000), Buffer.alloc(4000)])
    await expect.poll(() => page.value(ending)).toMatch(/ … and 4952 more bytes$/)
    // The long-poll brings both records.
    expect(await page.value('JSON.stringify(marks.at(-1).slice(1))')).toBe('[2,7000]')
  },
)

test.skipIf(missingChromium !== '')(
  `a page of another site cannot append, unless cors has its origin ${missingChromium}`,
  async () => {
    const { streams } = await scratchStreams()
    await streams.stream('text').create({ encoding: 'buffer', contentType: 'text/plain' })
    const own = await serveStreams(streams, { port: 0 })
    onTestFinished(() => own.close())
    // Another site: the page has the address localhost, and the server 127.0.0.1.
    const page = await Page.open(`${own.url.replace('127.0.0.1', 'localhost')}/healthz`)
    await expect.poll(() => page.value('document.body?.textContent')).toContain('ok')
    const origin = await page.value<string>('location.origin')
    const append = async (cors: string[]) => {
      const server = await serveStreams(streams, { port: 0, cors })
      onTestFinished(() => server.close())
      // Without a preflight request.
      const init = "{ method: 'POST', mode: 'no-cors', body: 'forged', headers: { 'content-type': 'text/plain' } }"
      await page.value(`fetch('${server.url}/text', ${init}).then(() => {})`)
      return (await streams.stream('text').info())?.nextSeq
    }
    expect([await append([]), await append(['https://app.example'])]).toEqual([0, 0])
    expect([await append([origin]), await append(['*'])]).toEqual([1, 2])
  },
)

test.skipIf(missingChromium !== '')(
  `a page whose name is rebound to the server can use it only if the name is in hosts ${missingChromium}`,
  async () => {
    const { streams } = await scratchStreams()
    await streams.stream('text').create({ encoding: 'buffer', contentType: 'text/plain' })
    const statusesOf = async (hosts: string[]) => {
      const server = await serveStreams(streams, { port: 0, ui: true, hosts })
      onTestFinished(() => server.close())
      const page = await Page.open(server.url.replace('127.0.0.1', 'evil.example'))
      await expect.poll(() => page.value('location.hostname + document.readyState')).toBe('evil.examplecomplete')
      const init = "{ method: 'POST', body: 'forged', headers: { 'content-type': 'text/plain' } }"
      const statuses = ["'/text'", "'/__ds/streams'", "'/metrics'", `'/text', ${init}`].map((call) => `fetch(${call})`)
      return page.value<number[]>(`Promise.all([${statuses}]).then((all) => all.map(({ status }) => status))`)
    }
    expect(await statusesOf([])).toEqual([403, 403, 403, 403])
    expect((await streams.stream('text').info())?.nextSeq).toBe(0)
    expect(await statusesOf(['evil.example'])).toEqual([200, 200, 200, 204])
  },
)

test.skipIf(missingChromium !== '')(
  `a browser that opens the URL of a stream of HTML runs no script of it ${missingChromium}`,
  async () => {
    const { streams } = await scratchStreams()
    const server = await serveStreams(streams, { port: 0, ui: true })
    onTestFinished(() => server.close())
    const body = '<p>shown</p><script>document.querySelector("p").textContent = "a script ran"</script>'
    await fetch(`${server.url}/html`, { method: 'PUT', headers: { 'content-type': 'text/html' }, body })
    const page = await Page.open(`${server.url}/html`)
    await expect.poll(() => page.value(text('p'))).not.toBe('')
    await expect.poll(() => page.value('document.readyState')).toBe('complete')
    expect(await page.value(text('p'))).toBe('shown')
  },
)
