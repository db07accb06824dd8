// Electron, preload script: gives the page two functions. It runs in the sandbox, where durlog cannot be loaded.
const { contextBridge, ipcRenderer } = require('electron')

contextBridge.exposeInMainWorld('entries', {
  append: (entry) => ipcRenderer.invoke('history:append', entry),
  read: (from) => ipcRenderer.invoke('history:read', from),
})
