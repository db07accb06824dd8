/** The conformance suite of the Durable Streams protocol, with one server that owns its folder. */
import { openStreams } from '../../src/streams/index.js'
import { testConformance } from '../fixtures/conformance.js'

testConformance(async (dir) => {
  const streams = await openStreams(dir, { exclusive: true })
  return { opened: [streams], served: [streams] }
})
