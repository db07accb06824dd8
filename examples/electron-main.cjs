// Electron's main process keeps the application's history. Renderers append through IPC; each call settles when the
// entry is on the device. Closing the log in `will-quit` is optional: no acknowledged entry depends on it.
const { join } = require('node:path')
const { app, BrowserWindow, ipcMain } = require('electron')
const { open } = require('durlog')

app.whenReady().then(async () => {
  const log = await open(join(app.getPath('userData'), 'history'), { encoding: 'json' })
  ipcMain.handle('history:append', (_event, entry) => log.append(entry))
  ipcMain.handle('history:read', async (_event, from) => {
    const entries = []
    for await (const { seq, value } of log.read({ from })) entries.push({ seq, value })
    return entries
  })
  app.on('will-quit', () => log.flushSync())
  await new BrowserWindow({ webPreferences: { preload: join(__dirname, 'preload.cjs') } }).loadFile('index.html')
})
