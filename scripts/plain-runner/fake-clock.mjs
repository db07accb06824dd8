// The fake timers of vitest's `vi`, as far as the tests use them: clocks that only the test moves. Timers are not
// faked.
import { performance } from 'node:perf_hooks'

const CLOCKS = { Date, performance }
/** The time of each fake clock. */
const times = new Map()
const real = new Map()

export const fakeClock = {
  useFakeTimers({ toFake }) {
    for (const name of toFake) {
      const clock = CLOCKS[name]
      real.set(name, clock.now)
      times.set(name, clock.now())
      clock.now = () => times.get(name)
    }
  },
  setSystemTime(ms) {
    times.set('Date', ms)
  },
  advanceTimersByTime(ms) {
    for (const [name, time] of times) times.set(name, time + ms)
  },
  useRealTimers() {
    for (const [name, now] of real) CLOCKS[name].now = now
    times.clear()
    real.clear()
  },
}
