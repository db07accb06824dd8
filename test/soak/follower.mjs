// One follower of the soak trial. Lines on stdout, times by CLOCK_MONOTONIC in milliseconds:
//   r MS                    it follows from here on
//   b MS ERA END            every record below END has been delivered, the last of them of ERA
//   j SEQ ERA FROM          record SEQ is of ERA, and the one before was of the earlier era FROM
//   o MS SEQ MESSAGE        out of range; SEQ was to come next
//   d FROM TO               a bare timer was late: nothing of this process ran in between
//   x TEXT                  a violation; the follower ends
import { open } from '../../dist/index.js'
import { say } from '../fixtures/say.mjs'
import { eraOf, isWhole, nowMs } from './record.mjs'

const TIMER_MS = 5
const TOLD_DELAY_MS = 10
/** How many records are read again after ERR_DURLOG_OUT_OF_RANGE. */
const STEP_BACK = 100

const { dir, durableOnly } = JSON.parse(process.argv[2])

let timerAt = nowMs()
function onTimer() {
  const now = nowMs()
  if (now - timerAt - TIMER_MS > TOLD_DELAY_MS) say(`d ${timerAt + TIMER_MS} ${now}`)
  timerAt = now
  setTimeout(onTimer, TIMER_MS)
}
onTimer()

class Violation extends Error {}

/** Follows from `from` until the log says why not; the seq that was to come next. */
async function follow(log, from) {
  const reader = log.read({ follow: true, durableOnly, from })
  let next = from
  let era = -1
  let told = from
  try {
    for (;;) {
      let record = reader.nextBuffered()
      if (record === undefined) {
        if (next !== told) say(`b ${nowMs()} ${era} ${next}`)
        told = next
        const { done, value } = await reader.next()
        if (done) throw new Violation(`the follower ended before ${next}`)
        record = value
      }
      const { seq, data } = record
      if (seq !== next) throw new Violation(`record ${next} was to come, ${seq} came`)
      if (!isWhole(data, seq)) throw new Violation(`record ${seq} has other bytes than were appended`)
      const found = eraOf(data)
      if (found < era) throw new Violation(`record ${seq} is of era ${found}, the one before it of ${era}`)
      if (era !== -1 && found > era) say(`j ${seq} ${found} ${era}`)
      if (found !== era && next !== told) say(`b ${nowMs()} ${era} ${next}`)
      era = found
      next++
    }
  } catch (error) {
    if (error.code !== 'ERR_DURLOG_OUT_OF_RANGE') throw error
    if (next !== told) say(`b ${nowMs()} ${era} ${next}`)
    if (next !== from) say(`o ${nowMs()} ${next} ${error.message}`)
    return next
  } finally {
    await reader.return()
  }
}

try {
  const log = await open(dir, { readOnly: true })
  let next = log.firstSeq
  say(`r ${nowMs()}`)
  for (;;) {
    next = await follow(log, next)
    await log.refresh()
    // The log may change before the follower begins: it gets an error and tries again.
    next = Math.max(log.firstSeq, Math.min(next, log.nextSeq) - STEP_BACK)
  }
} catch (error) {
  say(`x ${error.code ?? ''} ${error.stack.replaceAll('\n', ' ')}`)
}
