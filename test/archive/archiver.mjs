/** Archives the log in a folder until it is killed: `node archiver.mjs DIR CURSOR ACCESS`, where ACCESS is JSON. */
import { open } from 'durlog'
import { archive } from 'durlog/archive'

const [dir, cursor, access] = process.argv.slice(2)
const log = await open(dir, { readOnly: true })
const compress = cursor === 'first' ? 'zstd' : 'none'
archive(log, { ...JSON.parse(access), cursor, compress, flushMs: 50 + Math.floor(Math.random() * 200) })
