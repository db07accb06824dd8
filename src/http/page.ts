/**
 * The page that shows the streams: one HTML document without a framework. Its policy allows only its own script and
 * style.
 */

const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1d21;--dim:#59636e;--line:#d1d9e0;--accent:#0a58ca;--bad:#b3261e;--row:#f4f6f8}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#9aa5b1;--line:#343b43;--accent:#7ab3ff;--bad:#ff8a80;--row:#1d2126}}
[hidden]{display:none!important}*{box-sizing:border-box}body{margin:0;font:15px/1.45 system-ui,sans-serif;background:var(--bg);color:var(--fg);display:grid;grid-template-columns:minmax(220px,300px) 1fr;height:100vh}
header,nav,main{min-width:0}nav{border-right:1px solid var(--line);display:flex;flex-direction:column;padding:12px;gap:8px;overflow:auto}
main{display:flex;flex-direction:column;min-height:0;padding:12px;gap:8px}h1{font-size:17px;margin:0}h2{font-size:16px;margin:0;overflow-wrap:anywhere}
label{display:block;color:var(--dim);font-size:13px}input,button,select{font:inherit;color:inherit;background:var(--bg);border:1px solid #858f99;border-radius:6px;padding:6px 8px;max-width:100%}
input{width:100%}button{cursor:pointer;min-height:36px}button[aria-pressed=true]{background:var(--accent);color:var(--bg);border-color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:1px}ul,ol{list-style:none;margin:0;padding:0}nav li button{display:block;width:100%;text-align:left;border-color:transparent;overflow-wrap:anywhere}
nav li button[aria-current=true]{border-color:var(--accent);background:var(--row)}nav small,.dim{color:var(--dim)}form{display:flex;gap:8px;flex-wrap:wrap;align-items:end}form>div{flex:1 1 150px}
#status{display:flex;gap:4px 16px;flex-wrap:wrap;margin:0}#status div{display:flex;gap:6px}dt{color:var(--dim)}dd{margin:0;font-variant-numeric:tabular-nums}
#records{flex:1;overflow:auto;border:1px solid var(--line);border-radius:6px;min-height:120px}#records li{padding:4px 10px;border-bottom:1px solid var(--line);font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
#records li[data-seq]{display:flex;gap:10px}#records li[data-seq]::before{content:attr(data-seq);color:var(--dim)}#records details{min-width:0}
#records li:nth-child(even){background:var(--row)}pre{margin:4px 0;white-space:pre-wrap}summary{cursor:pointer}.error{color:var(--bad);margin:0}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--bg);padding:8px}
@media(max-width:700px){body{display:flex;flex-direction:column}nav{border-right:0;border-bottom:1px solid var(--line);max-height:38vh;flex:none}main{flex:1}}
@media(max-width:700px) and (max-height:600px){body{display:block;height:auto}nav{max-height:60vh}#records{max-height:60vh}}
`

const SCRIPT = `
'use strict'
const $ = (id) => document.getElementById(id)
const MAX_ROWS = 500
const enc = encodeURIComponent
let token = '', current, stop, paused = false, held = [], marks = [], listed, listFails = false
const ask = async (path, init = {}) => {
  const headers = token ? { authorization: 'Bearer ' + token } : {}
  const answer = await fetch(path, { ...init, headers, cache: 'no-store' }).catch(() => {
    throw new Error('the server cannot be reached')
  })
  if (answer.ok) return answer
  const text = await answer.text()
  let message = text
  try { message = JSON.parse(text).error.message } catch {}
  const error = new Error(answer.status + ': ' + message)
  error.status = answer.status
  throw error
}
const show = (error) => { $('error').textContent = error ? String(error.message || error) : '' }
const amount = (count, unit) => count + ' ' + unit + (count === 1 ? '' : 's')
const seqOf = (offset) => Number(offset.split('_').pop())
const buttons = () => [...$('streams').querySelectorAll('button')]
const list = async () => {
  try {
    const answer = await ask('__ds/streams?limit=200&prefix=' + encodeURIComponent($('prefix').value))
    const text = await answer.text()
    if (listFails) show()
    listFails = false
    if (text === listed) return
    listed = text
    const { streams, more } = JSON.parse(text)
    const focused = document.activeElement.dataset.name
    $('streams').replaceChildren(...streams.map((stream) => {
      const button = document.createElement('button')
      button.type = 'button'
      button.dataset.name = stream.name
      button.append(stream.name, document.createElement('br'))
      const small = document.createElement('small')
      small.textContent = amount(stream.records, 'record') + (stream.closed ? ', closed' : '') + ' · ' + stream.contentType
      button.append(small)
      if (stream.name === current) button.setAttribute('aria-current', 'true')
      button.addEventListener('click', () => open(stream.name, '-1'))
      const item = document.createElement('li')
      item.append(button)
      return item
    }))
    if (focused !== undefined) buttons().find((button) => button.dataset.name === focused)?.focus({ preventScroll: true })
    $('count').textContent = streams.length === 0 ? 'no streams' : (more ? 'the first ' : '') + amount(streams.length, 'stream')
  } catch (error) {
    listFails = true
    if (error.status === 401 || error.status === 403) $('login').hidden = false
    show(error)
  }
}
// JSON is shown as it was sent: JSON.parse would change long numbers, and drop repeated names.
const elementsOf = (json) => {
  const elements = []
  let depth = 0, start = 1
  for (let at = 0; at < json.length; at++) {
    const sign = json[at]
    if (sign === '"') while (json[++at] !== '"') { if (json[at] === '\\\\') at++ }
    else if (sign === '[' || sign === '{') depth++
    else if (sign === ']' || sign === '}') depth--
    const ends = depth === 0 || (depth === 1 && sign === ',')
    if (!ends || at === start) continue
    elements.push(json.slice(start, at))
    start = at + 1
  }
  return elements
}
const indented = (json) => {
  let depth = 0, text = '', last = ''
  for (const token of json.match(/"(?:\\\\.|[^"\\\\])*"|[[\\]{},:]|[^\\s[\\]{},:"]+/g)) {
    const closes = token === '}' || token === ']'
    const isFirst = last === '{' || last === '['
    if (closes) depth--
    if (closes ? !isFirst : isFirst || last === ',') text += '\\n' + '  '.repeat(Math.min(depth, 50))
    text += token === ':' ? ': ' : token
    if (token === '{' || token === '[') depth++
    last = token
  }
  return text
}
const row = (text, isJson, seq) => {
  const item = document.createElement('li')
  if (isJson) item.dataset.seq = seq
  if (isJson && text.length > 120) {
    const details = document.createElement('details')
    const summary = document.createElement('summary')
    summary.textContent = text.slice(0, 110) + '…'
    details.append(summary)
    details.addEventListener('toggle', () => {
      if (!details.open || details.children.length > 1) return
      const pre = document.createElement('pre')
      pre.textContent = indented(text)
      details.append(pre)
    })
    item.append(details)
  } else item.textContent = text
  return item
}
const add = (texts, isJson, next) => {
  const rows = texts.map((text, at) => [text, isJson, next - texts.length + at]).slice(-MAX_ROWS).map((each) => row(...each))
  if (paused) held = [...held, ...rows].slice(-MAX_ROWS)
  else append(rows)
}
const append = (rows) => {
  const box = $('records')
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40
  box.append(...rows)
  while (box.children.length > MAX_ROWS) box.firstChild.remove()
  if (atEnd) box.scrollTop = box.scrollHeight
}
const rate = (count, bytes) => {
  const now = performance.now()
  marks.push([now, count, bytes])
  marks = marks.filter(([at]) => now - at < 5000)
}
setInterval(() => {
  const now = performance.now()
  marks = marks.filter(([at]) => now - at < 5000)
  const sum = (at) => marks.reduce((total, mark) => total + mark[at], 0) / 5
  $('rate').textContent = sum(1).toFixed(1) + ' records/s, ' + Math.round(sum(2)).toLocaleString() + ' B/s'
}, 1000)
const state = (text) => { $('state').textContent = text }
const open = async (name, offset) => {
  stop?.abort()
  const ending = (stop = new AbortController())
  current = name
  history.replaceState(null, '', '#' + enc(name))
  held = []
  marks = []
  $('name').textContent = name
  $('records').replaceChildren()
  for (const button of buttons()) {
    if (button.dataset.name === name) button.setAttribute('aria-current', 'true')
    else button.removeAttribute('aria-current')
  }
  let pause = 250
  for (let wait; !ending.signal.aborted; ) {
    try {
      const live = wait ? '&live=long-poll' : ''
      state(wait ? 'live' : 'catching up')
      const answer = await ask(enc(name) + '?offset=' + encodeURIComponent(offset) + live, { signal: ending.signal })
      const type = answer.headers.get('content-type') || ''
      const isJson = type.startsWith('application/json')
      const text = answer.status === 204 ? '' : isJson || type.startsWith('text/') ? await answer.text() : hex(await answer.arrayBuffer())
      if (ending.signal.aborted) return
      const parts = text === '' ? [] : isJson ? elementsOf(text) : [text]
      const next = answer.headers.get('stream-next-offset')
      wait = answer.headers.get('stream-up-to-date') === 'true'
      add(parts, isJson, seqOf(next))
      // An earlier offset has a seq; -1 and now have none.
      const count = isJson || !offset.includes('_') ? parts.length : seqOf(next) - seqOf(offset)
      rate(count, Number(answer.headers.get('content-length')))
      offset = next
      $('offset').textContent = String(seqOf(next))
      const head = wait ? answer : await ask(enc(name), { method: 'HEAD', signal: ending.signal })
      $('lag').textContent = String(Math.max(0, seqOf(head.headers.get('stream-next-offset')) - seqOf(next)))
      show()
      pause = 250
      if (answer.headers.get('stream-closed') === 'true') { state('closed'); return }
    } catch (error) {
      if (ending.signal.aborted) return
      show(error)
      // The stream was deleted and created again, or its first records were removed.
      if (error.status === 410 && offset !== '-1') return open(name, '-1')
      if (error.status && error.status < 500) { state('stopped'); return }
      state('connecting again')
      await new Promise((resolve) => setTimeout(resolve, (pause = Math.min(pause * 2, 5000))))
    }
  }
}
const hex = (buffer) => {
  const shown = [...new Uint8Array(buffer).slice(0, 2048)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
  const more = buffer.byteLength - 2048
  return more > 0 ? shown + ' … and ' + amount(more, 'more byte') : shown
}
$('pause').addEventListener('click', () => {
  paused = !paused
  $('pause').setAttribute('aria-pressed', String(paused))
  $('pause').textContent = paused ? 'Continue' : 'Pause'
  if (!paused) append(held.splice(0))
})
$('jump').addEventListener('submit', async (event) => {
  event.preventDefault()
  const text = $('target').value.trim()
  try {
    if (current === undefined) throw new Error('choose a stream first')
    if (text === '' || text === '-1') return open(current, '-1')
    if (text === 'now') return open(current, 'now')
    if (/^[0-9]{1,15}$/.test(text)) {
      const head = await ask(enc(current), { method: 'HEAD' })
      return open(current, head.headers.get('stream-next-offset').replace(/_.*/, '_' + text.padStart(16, '0')))
    }
    const time = new Date(text)
    if (isNaN(time)) throw new Error('enter a seq, "now", or a time')
    const answer = await ask('__ds/streams?at=' + time.getTime() + '&name=' + encodeURIComponent(current))
    open(current, (await answer.json()).offset)
  } catch (error) { show(error) }
})
$('search').addEventListener('submit', (event) => { event.preventDefault(); list() })
$('login').addEventListener('submit', (event) => { event.preventDefault(); token = $('token').value; $('login').hidden = true; list(); if (current !== undefined) open(current, '-1') })
const openNamed = () => {
  try {
    const name = decodeURIComponent(location.hash.slice(1))
    if (name !== '' && name !== current) open(name, '-1')
  } catch { show('the address does not name a stream') }
}
addEventListener('hashchange', openNamed)
openNamed()
list()
setInterval(() => { if (!document.hidden) list() }, 5000)
`

export const PAGE: string = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>durlog streams</title>
<style>${STYLE}</style>
<a class="skip" href="#records">Skip to the records</a>
<nav aria-label="Streams">
<h1>durlog streams</h1>
<form id="login" hidden><div><label for="token">Token</label><input id="token" type="password" autocomplete="off"></div><button>Use</button></form>
<form id="search" role="search"><div><label for="prefix">Names that begin with</label><input id="prefix" autocomplete="off" spellcheck="false"></div><button>List</button></form>
<p id="count" class="dim" role="status"></p>
<ul id="streams"></ul>
</nav>
<main>
<p id="error" class="error" role="alert"></p>
<h2 id="name">Choose a stream</h2>
<form id="jump"><div><label for="target">Go to a seq, &quot;now&quot; or 2026-01-31 14:00</label><input id="target" autocomplete="off"></div><button>Go</button><button id="pause" type="button" aria-pressed="false">Pause</button></form>
<dl id="status"><div><dt>State</dt><dd id="state" role="status">no stream</dd></div><div><dt>Next seq</dt><dd id="offset">0</dd></div><div><dt>Lag</dt><dd id="lag">0</dd></div><div><dt>Rate</dt><dd id="rate">0.0 records/s, 0 B/s</dd></div></dl>
<ol id="records" tabindex="0" aria-label="Records"></ol>
</main>
<script>${SCRIPT}</script>
</html>
`
