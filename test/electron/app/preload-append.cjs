// Appends without end and reports each acknowledgement to the main process. The previous page may still hold the
// log: its lock goes with its environment.
const { join } = require('node:path')
const { ipcRenderer } = require('electron')
const { open } = require('durlog')

const UNDER_WAY = 20
const folder = process.argv.find((arg) => arg.startsWith('--folder=')).slice('--folder='.length)

async function appendForEver(log) {
  for (;;) {
    const seq = await log.append('y'.repeat(2000))
    ipcRenderer.send('event', { acknowledged: seq, from: 'window' })
  }
}

open(join(folder, 'window'), { segmentBytes: 65536, waitMs: 30_000 })
  .then((log) => Promise.all(Array.from({ length: UNDER_WAY }, () => appendForEver(log))))
  .catch((error) => ipcRenderer.send('event', { failed: error.stack }))
