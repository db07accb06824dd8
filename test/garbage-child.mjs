// Adds requests to a list and removes them, with a few in the list at any time and without full garbage collections. Prints the
// largest growth of the heap in bytes. Argument: the kind of list.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Active } = require('../dist/http/active.js')
const { OpenRequests } = require('../dist/streams/processes/open-requests.js')

const REQUESTS = 20_000
const OPEN = 10
const ROUND = 1000
/** The numbers that each request refers to. */
const WEIGHT = 256

const LISTS = {
  /** The requests that an HTTP server has not answered. */
  active: () => {
    const list = new Active()
    return { add: (request) => list.add(request), answer: (request) => list.delete(request) }
  },
  /** The requests that the owner of a folder has not answered. */
  'open-requests': () => {
    const list = new OpenRequests()
    return { add: (request) => list.add(request), answer: ({ number }) => list.take(number) }
  },
}

function usedHeap() {
  for (let i = 0; i < 3; i++) globalThis.gc({ type: 'minor' })
  return process.memoryUsage().heapUsed
}

const { add, answer } = LISTS[process.argv[2]]()
const open = []
let before
let most = 0
for (let number = 0; number < REQUESTS; number++) {
  const request = { number, weight: Array.from({ length: WEIGHT }, (_, at) => number + at) }
  open.push(request)
  add(request)
  if (open.length > OPEN) answer(open.shift())
  if ((number + 1) % ROUND !== 0) continue
  before ??= usedHeap()
  most = Math.max(most, usedHeap() - before)
}
console.log(most)
