/** The sorted names of streams, compared with a sorted array. */
import { expect, test } from 'vitest'
import { SortedNames } from '../src/support/sorted-names.js'

const SEED = Number(process.env['DURLOG_NAMES_SEED'] ?? Date.now() % 100_000)

function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function inOrder(names: SortedNames): string[] {
  const found: string[] = []
  for (let name = names.from(''); name !== undefined; name = names.after(name)) found.push(name)
  return found
}

test.each(['ascending', 'descending', 'random'])(
  `names that are added in %s order are found in order (seed ${SEED})`,
  (order) => {
    const random = randomFrom(SEED)
    const names = new SortedNames()
    const expected = new Set<string>()
    for (let at = 0; at < 3000; at++) {
      const number = order === 'ascending' ? at : order === 'descending' ? 3000 - at : random(4000)
      const name = `${['a', 'b/', 'ä', '\ud83d\ude00'][number % 4]}${String(number).padStart(random(2) * 6, '0')}`
      names.add(name)
      expected.add(name)
      if (random(3) > 0) continue
      const other = [...expected][random(expected.size)] as string
      names.delete(other)
      names.delete(`${other}x`)
      expected.delete(other)
    }
    const sorted = [...expected].sort((one, other) => (one < other ? -1 : 1))
    expect(inOrder(names)).toEqual(sorted)
    for (const prefix of ['', 'a', 'a0', 'b', 'b/1', 'c', 'ä', '\ud83d', 'z', '\uffff']) {
      const matching = sorted.filter((name) => name.startsWith(prefix))
      expect([prefix, names.count(prefix)]).toEqual([prefix, matching.length])
      expect(names.from(prefix)).toBe(sorted.find((name) => name >= prefix))
      expect(names.after(prefix)).toBe(sorted.find((name) => name > prefix))
    }
    for (const name of sorted) names.delete(name)
    expect(names.from('')).toBeUndefined()
    expect(names.count('')).toBe(0)
  },
)
