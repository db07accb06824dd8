import { expect, test, vi } from 'vitest'
import { formatCount, formatFields, formatTable, formatWrapped, writeMessage } from '../../src/terminal/output.js'

test('text is broken at blanks, within the columns, and indented to the end of its head', () => {
  const text = 'a line that is too long for a narrow terminal is broken'
  const lines = formatWrapped('\x1b[32mOK\x1b[39m  ', text, 28).split('\n')
  expect(lines).toEqual([
    '\x1b[32mOK\x1b[39m  a line that is too long',
    '    for a narrow terminal is',
    '    broken',
    '',
  ])
})

test('a word that is longer than the line is printed on a separate line', () => {
  expect(formatWrapped('> ', `a ${'x'.repeat(30)} b`, 24)).toBe(`> a\n  ${'x'.repeat(30)}\n  b\n`)
})

test('no line is broken without a terminal', () => {
  const text = 'a word '.repeat(50).trim()
  expect(formatWrapped('OK ', text, Number.POSITIVE_INFINITY)).toBe(`OK ${text}\n`)
})

test.each([true, false])('a message on stderr is wrapped if stderr is a terminal (%s)', (isTTY) => {
  const { stderr } = process
  const earlier = { isTTY: stderr.isTTY, columns: stderr.columns }
  const written: string[] = []
  const write = vi.spyOn(stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  try {
    Object.assign(stderr, { isTTY, columns: 40 })
    writeMessage('durlog: ', 'a message of two lines on this narrow terminal')
  } finally {
    Object.assign(stderr, earlier)
    write.mockRestore()
  }
  expect(written.join('').split('\n')).toEqual(
    isTTY
      ? ['durlog: a message of two lines on this', '        narrow terminal', '']
      : ['durlog: a message of two lines on this narrow terminal', ''],
  )
})

test('a table that is wider than the terminal is a list of fields for each row', () => {
  const head = ['cursor', 'position']
  const rows = [
    ['a'.repeat(40), '1'],
    ['b', '2'],
  ]
  expect(formatTable(head, rows, 80).startsWith('┌')).toBe(true)
  expect(formatTable(head, rows, 50)).toBe(`cursor    ${'a'.repeat(40)}\nposition  1\n\ncursor    b\nposition  2\n`)
})

test('a name from another program cannot control the terminal, break its line or reverse it', () => {
  const name = 'a\x1b[31m\n\r\t\x07\x7f\x9b\u2028\u202e\u2066é☃'
  const shown = 'a\\u001b[31m\\u000a\\u000d\\u0009\\u0007\\u007f\\u009b\\u2028\\u202e\\u2066é☃'
  expect(formatFields([['stream', name]])).toBe(`stream  ${shown}\n`)
  expect(formatTable(['stream', 'records'], [[name, '1']], 200).split('\n')[3]).toBe(`│ ${shown} │       1 │`)
})

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [-1000, '-1,000'],
  [-100_000, '-100,000'],
  [1_234_567, '1,234,567'],
  [Number.MAX_SAFE_INTEGER, '9,007,199,254,740,991'],
])('the digits of the count %d are grouped by thousands', (count, text) => {
  expect(formatCount(count)).toBe(text)
})

test('a long value continues below its beginning on a terminal', () => {
  const fields = [
    ['state', 'open'],
    ['last error', 'the store did not answer'],
  ] as const
  expect(formatFields(fields, 34)).toBe('state       open\nlast error  the store did not\n            answer\n')
})
