const { join } = require('node:path')
const { ipcRenderer } = require('electron')
const { runSmoke } = require(join(__dirname, 'smoke.cjs'))

const folder = process.argv.find((arg) => arg.startsWith('--folder=')).slice('--folder='.length)
runSmoke('durlog', folder, { worker: false }).then(
  (done) => ipcRenderer.send('event', { done }),
  (error) => ipcRenderer.send('event', { failed: error.stack }),
)
