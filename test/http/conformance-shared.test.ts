/** The conformance suite of the Durable Streams protocol, against two servers of one folder that neither owns, in turn. */
import { openStreams } from '../../src/streams/index.js'
import { testConformance } from '../fixtures/conformance.js'

testConformance(async (dir) => {
  const owner = await openStreams(dir)
  const served = [await openStreams(dir), await openStreams(dir)]
  return { opened: [owner, ...served], served }
})
