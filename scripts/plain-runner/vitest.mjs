// The part of vitest that this repository's tests use, without vite and its native binaries: the runner and the
// assertions of vitest, which are plain JavaScript.
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  GLOBAL_EXPECT,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect'
import { restoreAllMocks, spyOn } from '@vitest/spy'
import { fakeClock } from './fake-clock.mjs'

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

export const expect = (value, message) => chai.expect(value, message)
Object.assign(expect, chai.expect, globalThis[ASYMMETRIC_MATCHERS_OBJECT])
globalThis[GLOBAL_EXPECT] = expect
expect.getState = () => getState(expect)
expect.setState = (state) => setState(state, expect)
setState({ assertionCalls: 0, isExpectingAssertions: false, expectedAssertionsNumber: null }, expect)

const POLL_MS = 120_000
const POLL_EVERY_MS = 50

/**
 * As vitest's expect.poll: calls `take` and applies the matcher to the result until it passes or `timeout` ms have
 * passed.
 */
expect.poll = (take, { timeout = POLL_MS, interval = POLL_EVERY_MS } = {}) =>
  new Proxy(
    {},
    {
      get:
        (_, matcher) =>
        async (...expected) => {
          for (const end = Date.now() + timeout; ; await new Promise((resolve) => setTimeout(resolve, interval))) {
            try {
              return expect(await take())[matcher](...expected)
            } catch (error) {
              if (Date.now() >= end) throw error
            }
          }
        },
    },
  )

export const vi = { spyOn, restoreAllMocks, ...fakeClock }

export {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  it,
  onTestFailed,
  onTestFinished,
  test,
} from '@vitest/runner'
