/**
 * The conformance suite of the Durable Streams protocol, with two servers that share a folder without owning it, and
 * get the requests alternately.
 */
import { openStreams } from '../../src/streams/index.js'
import { testConformance } from '../fixtures/conformance.js'

testConformance(async (dir) => {
  const owner = await openStreams(dir)
  const served = [await openStreams(dir), await openStreams(dir)]
  return { opened: [owner, ...served], served }
})
