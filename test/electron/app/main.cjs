// An application for the tests: runs the scenario that DURLOG_SCENARIO names, and writes the result to the file
// DURLOG_REPORT, a line of JSON for each event, with synchronous writes so that no event is lost.
const { appendFileSync } = require('node:fs')
const { join } = require('node:path')
const { app, BrowserWindow, ipcMain, utilityProcess } = require('electron')

const { DURLOG_FOLDER: folder, DURLOG_REPORT: report, DURLOG_SCENARIO: scenario } = process.env
const tell = (event) => appendFileSync(report, `${JSON.stringify(event)}\n`)

let finished = false
function finish(event) {
  if (finished) return
  finished = true
  tell(event)
  app.quit()
}

/** A window without sandbox that runs `preload`. */
function openWindow(preload) {
  const window = new BrowserWindow({
    show: false,
    webPreferences: { sandbox: false, preload: join(__dirname, preload), additionalArguments: [`--folder=${folder}`] },
  })
  window.webContents.on('render-process-gone', (_event, details) => finish({ gone: details.reason }))
  window.webContents.on('preload-error', (_event, _path, error) => finish({ failed: error.stack }))
  window.loadFile(join(__dirname, 'page.html'))
  return window
}

async function runMain() {
  const { runSmoke } = require(join(__dirname, 'smoke.cjs'))
  finish({ done: await runSmoke('durlog', folder) })
}

function runUtility() {
  const child = utilityProcess.fork(join(__dirname, 'utility.cjs'), ['durlog', folder])
  child.once('message', (event) => {
    // It lives for as long as its port to this process is open.
    child.removeAllListeners('exit')
    runRecipe().then(
      () => finish(event),
      (error) => finish({ failed: error.stack }),
    )
  })
  child.once('exit', (code) => finish({ failed: `the utility process ended with ${code}` }))
}

/** The utility process of docs/ELECTRON.md. */
async function runRecipe() {
  const { append, history } = require('./history-main.cjs')
  const seqs = await Promise.all([append({ text: 'hello' }), append({ text: 'world' })])
  if (seqs.join() !== '0,1') throw new Error(`the history has stored ${seqs.join()}`)
  history.kill()
  for (const text of ['waits for the answer', 'is made after the end']) {
    const refused = await append({ text }).catch((error) => error.message)
    if (refused !== 'the process of the history has ended') throw new Error(`the append was answered with ${refused}`)
  }
}

function runPreload() {
  ipcMain.on('event', (_event, event) => finish(event))
  openWindow('preload-smoke.cjs')
}

/** Reloads the window after it has reported acknowledged appends, while others are in flight. */
function runReload() {
  const RELOADS = 5
  const ACKNOWLEDGED_FOR_RELOAD = 40
  let reloads = 0
  let since = 0
  const window = openWindow('preload-append.cjs')
  ipcMain.on('event', (_event, event) => {
    if (event.failed !== undefined) return finish(event)
    tell(event)
    since += 1
    if (since < ACKNOWLEDGED_FOR_RELOAD) return
    since = 0
    reloads += 1
    if (reloads > RELOADS) finish({ done: 'reloaded' })
    else window.webContents.reload()
  })
}

/** Quits with appends under way, in the main process and in a window. */
async function runQuit() {
  const ACKNOWLEDGED_FOR_QUIT = 200
  const { open } = require('durlog')
  const log = await open(join(folder, 'main'), { segmentBytes: 65536 })
  ipcMain.on('event', (_event, event) => tell(event))
  const window = openWindow('preload-append.cjs')
  await new Promise((resolve) => window.webContents.once('did-finish-load', resolve))
  let told = 0
  const appendMany = () => {
    for (let i = 0; i < 50; i += 1) {
      log.append('x'.repeat(500)).then((seq) => {
        tell({ acknowledged: seq, from: 'main' })
        told += 1
        if (told === ACKNOWLEDGED_FOR_QUIT) app.quit()
        if (told % 50 === 0) appendMany()
      })
    }
  }
  appendMany()
}

/** The example application: its window appends an entry, and the page lists it. */
function runExample() {
  app.on('browser-window-created', (_event, window) => {
    window.webContents.once('did-finish-load', async () => {
      const script = `add('first').then(() => document.body.innerText.trim() + '|' + document.querySelector('p').textContent)`
      const shown = await window.webContents.executeJavaScript(script)
      finish({ done: `${shown.split('\n').at(-1)} ${typeof require('durlog').open}` })
    })
  })
  require(join(__dirname, 'electron-main.cjs'))
}

const scenarios = {
  main: runMain,
  utility: runUtility,
  preload: runPreload,
  reload: runReload,
  quit: runQuit,
  example: runExample,
}
app.on('window-all-closed', () => {})
app
  .whenReady()
  .then(scenarios[scenario])
  .catch((error) => finish({ failed: error.stack }))
