// What `verify` and a reader find in a log that no process has recovered. An open for writing must agree with both.
import { crc32 } from 'node:zlib'
import { open, verify } from '../../../dist/index.js'

/** Returns undefined if there is no log. */
export async function observe(directory) {
  const report = await verify(directory).catch((error) => {
    if (error.code !== 'ERR_DURLOG_NOT_FOUND') throw error
  })
  if (report === undefined) return undefined
  const reader = await open(directory, { readOnly: true })
  const synced = new Map()
  for await (const { seq, data } of reader.read({ durableOnly: true })) synced.set(seq, crc32(data))
  await reader.close()
  return { report, synced }
}

/** Returns undefined if `observed` fits `log`, which was opened after it, otherwise the reason. */
export async function whyNotObserved(observed, log) {
  if (observed === undefined)
    return log.nextSeq === 0 ? undefined : `verify finds no log, and open ends it before ${log.nextSeq}`
  const { report, synced } = observed
  const said = `${report.state}, ${report.firstSeq} to before ${report.nextSeq}`
  const found = `${log.recovery.state}, ${log.firstSeq} to before ${log.nextSeq}`
  if (said !== found) return `verify says ${said}, and open says ${found}`
  for await (const { seq, data } of log.read()) {
    if (synced.has(seq) && synced.get(seq) !== crc32(data)) return `a durable reader delivers another record ${seq}`
    synced.delete(seq)
  }
  const [lost] = synced.keys()
  return lost === undefined ? undefined : `a durable reader delivers seq ${lost}, and open does not keep it`
}
