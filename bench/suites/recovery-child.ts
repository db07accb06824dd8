/** A writer that kills itself after appends that are only in the page cache. */
import { open } from 'durlog'

const [dir = '', bytes = '0', recordBytes = '1024'] = process.argv.slice(2)
const log = await open(dir)
const payload = Buffer.alloc(Number(recordBytes), 0x5a)
await log.append('the last record that was synced')
for (let written = 0; written < Number(bytes); written += payload.length) {
  try {
    log.write(payload)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_DURLOG_BACKPRESSURE') throw error
    await log.drain()
    written -= payload.length
  }
}
process.kill(process.pid, 'SIGKILL')
