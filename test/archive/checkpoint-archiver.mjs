/**
 * Archives the main log of streams, and a checkpoint, once: `node checkpoint-archiver.mjs LOG ACCESS LATER`, where
 * ACCESS is JSON. Its wall clock is LATER milliseconds ahead.
 */
import process from 'node:process'

const [log, access, later] = process.argv.slice(2)
const { now } = Date
Date.now = () => now() + Number(later)

const { open } = await import('durlog')
const { archive } = await import('durlog/archive')

const archiver = archive(await open(log, { readOnly: true }), { ...JSON.parse(access), historyMs: 0, flushMs: 60_000 })
archiver.on('error', () => {})
await archiver.idle()
await archiver.close()
process.exit()
