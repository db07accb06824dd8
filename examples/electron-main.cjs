// Electron: the main process keeps the application's history, and its window appends to it. Needs electron-preload.cjs
// and electron-page.html in the same folder.
const { join } = require('node:path')
const { app, BrowserWindow, dialog, ipcMain } = require('electron')
const { open } = require('durlog')

let log
let isClosing = false

/** Each call settles when the entry is on the device. A rejection reaches the page as an Error with the message. */
function answer(channel, work) {
  ipcMain.handle(channel, async (_event, argument) => {
    try {
      return await work(argument)
    } catch (error) {
      console.error(error)
      // The code of a DurlogError would be lost on the way to the page.
      throw new Error(error.code === 'ERR_DURLOG_NO_SPACE' ? 'The disk is full.' : error.message)
    }
  })
}

async function start() {
  // The previous instance may still be closing its log.
  log = await open(join(app.getPath('userData'), 'history'), { encoding: 'json', waitMs: 5000 })
  answer('history:append', (entry) => log.append(entry))
  answer('history:read', async (from) => {
    const entries = []
    for await (const { seq, value } of log.read({ from })) entries.push({ seq, value })
    return entries
  })
  log.on('latched', (error) => {
    dialog.showErrorBox('The history cannot be written', error.message)
    app.quit()
  })
  openWindow()
}

function openWindow() {
  const window = new BrowserWindow({ webPreferences: { preload: join(__dirname, 'electron-preload.cjs') } })
  window.loadFile(join(__dirname, 'electron-page.html'))
}

// A second instance would be refused with ERR_DURLOG_LOCKED: it shows the window of the first one, and ends.
if (app.requestSingleInstanceLock()) {
  app.on('second-instance', () => BrowserWindow.getAllWindows()[0]?.focus())
  app.on('window-all-closed', () => app.quit())
  app.on('before-quit', (event) => {
    if (log === undefined || isClosing) return
    // Without `close`, appends that are not acknowledged yet may be lost. Acknowledged ones never are.
    isClosing = true
    event.preventDefault()
    log.close().finally(() => app.quit())
  })
  app
    .whenReady()
    .then(start)
    .catch((error) => {
      dialog.showErrorBox('The history cannot be opened', error.message)
      app.exit(1)
    })
} else app.quit()
