/**
 * One machine of the trial: stands by, takes over and serves appends, which arrive as messages of the parent process.
 * Arguments: the folder, the access to the store or to the brokers as JSON, the duration of the lease, and the error of
 * the wall clock, which a message changes.
 */
import process from 'node:process'

const [dir, access, leaseMs, wrongMs] = process.argv.slice(2)
const { now } = Date
let wrong = Number(wrongMs)
Date.now = () => now() + wrong

const { openExclusive } = await import('../../dist/streams/api/open-streams.js')

/** A segment of the main log is sealed after about 60 appends. */
const LOG = { logSegmentBytes: 65_536 }
const VALUE_BYTES = 1000

const place = JSON.parse(access)
const isBucket = place.bucket !== undefined
const { archiveTo, jetstream, standBy, takeOver } = await import(isBucket ? 'durlog/archive' : 'durlog/jetstream')
const send = (message) => process.connected && process.send(message)
const standing = new AbortController()
let streams

process.on('disconnect', () => process.exit())
process.on('message', async (message) => {
  if (message.kind === 'promote') return standing.abort()
  if (message.kind === 'clock') {
    wrong = message.wrongMs
    return
  }
  const { id, stream, value, options } = message
  if (streams === undefined) return send({ id, code: 'standby' })
  try {
    const { seq, duplicate } = await streams.stream(stream).append(value.padEnd(VALUE_BYTES), options)
    send({ id, seq, duplicate })
  } catch ({ code, message: text, nextSeq }) {
    send({ id, code: code ?? text, nextSeq })
    if (code === 'ERR_DURLOG_FENCED') send({ kind: 'fenced' })
  }
})

try {
  const onLease = ({ ms }) => ms > 0 && send({ kind: 'standing' })
  const retried = { ...place, onRetry: ({ error }) => send({ kind: 'retry', reason: error.message }) }
  const options = { ...retried, ...(isBucket && { pollMs: 100 }), onLease, signal: standing.signal }
  await standBy(dir, options).catch(async (error) => {
    if (!standing.signal.aborted) throw error
    // A takeover by hand, also of a machine that has taken over and has stored nothing yet.
    await takeOver(dir, { ...retried, force: true })
  })
  const lease = { leaseMs: Number(leaseMs) }
  const replicate = isBucket ? archiveTo({ ...place, ...lease, flushMs: 1000 }) : jetstream({ ...place, ...lease })
  streams = await openExclusive(dir, { exclusive: true, replicate, durability: 'replicated' }, LOG)
  send({ kind: 'serving' })
} catch ({ code, message }) {
  send({ kind: 'ended', code: code ?? message })
  process.exit(1)
}
