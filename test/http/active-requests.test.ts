/** The requests that have not been answered. */
import { expect, test } from 'vitest'
import { ActiveRequests } from '../../src/http/active-requests.js'
import type { Exchange } from '../../src/http/exchange.js'

test('requests that are answered in any order leave the others in the list', () => {
  const active = new ActiveRequests()
  const exchanges = Array.from({ length: 101 }, () => ({ place: -1 }) as Exchange)
  const open = new Set(exchanges)
  for (const exchange of exchanges) active.add(exchange)
  // 7 and the count have no common divisor, so each exchange is deleted once, out of order.
  for (let step = 0; step < exchanges.length; step++) {
    const exchange = exchanges[(step * 7) % exchanges.length] as Exchange
    open.delete(exchange)
    active.delete(exchange)
    expect(active.size).toBe(open.size)
    expect(new Set(active.all)).toEqual(open)
  }
})
