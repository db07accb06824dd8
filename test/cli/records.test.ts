import { expect, test } from 'vitest'
import { fromJsonLine, LINE_ENCODINGS, toJsonLine, toReadableJsonLine } from '../../src/cli/records.js'

const record = (data: Buffer | string) => ({ seq: 7, timestamp: 1000, data: Buffer.from(data as string) })

test.each([
  ['utf8', 'with "quotes"\nand a line break, \u2028 and a byte order mark \ufeff'],
  ['base64', Buffer.from([0, 255, 10, 13])],
  ['json', '{"a":[1,2,{"b":"c\\n"}]}'],
] as const)('a payload comes back byte for byte by way of %s', (encoding, data) => {
  const line = toJsonLine(record(data), encoding)
  expect(line.indexOf('\n')).toBe(line.length - 1)
  expect(JSON.parse(line)).toMatchObject({ seq: 7, timestamp: 1000 })
  // Each line names the encoding of its data.
  for (const preset of LINE_ENCODINGS.filter((name) => name === encoding || encoding !== 'utf8'))
    expect(fromJsonLine(Buffer.from(line.trimEnd()), preset, 'line 1').data).toEqual(Buffer.from(data as string))
})

test('JSON that spans lines is one line of the export', () => {
  expect(toJsonLine(record('{\r\n  "a": 1\n}'), 'json')).toBe(
    '{"seq":7,"timestamp":1000,"data":{    "a": 1 },"encoding":"json"}\n',
  )
})

test('a payload that the encoding cannot represent is refused with its seq', () => {
  expect(() => toJsonLine(record(Buffer.from([255])), 'utf8')).toThrow(/record 7 is not UTF-8/)
  expect(() => toJsonLine(record('{'), 'json')).toThrow(/record 7 is not JSON/)
})

test('a payload that is not UTF-8 is printed as marked base64', () => {
  expect(JSON.parse(toReadableJsonLine(record(Buffer.from([255]))))).toMatchObject({ data: '/w==', encoding: 'base64' })
  expect(JSON.parse(toReadableJsonLine(record('text')))).toEqual({ seq: 7, timestamp: 1000, data: 'text' })
})

test.each(LINE_ENCODINGS)('a line without data is refused with its place (%s)', (encoding) => {
  for (const line of ['{', '5', 'null', '{"seq":1}']) {
    expect(() => fromJsonLine(Buffer.from(line), encoding, 'line 3')).toThrow(/line 3/)
  }
})

test('data of the wrong type is refused', () => {
  expect(() => fromJsonLine(Buffer.from('{"data":5}'), 'utf8', 'line 1')).toThrow(/must be a string/)
  expect(() => fromJsonLine(Buffer.from('{"data":"***"}'), 'base64', 'line 1')).toThrow(/not base64/)
  expect(() => fromJsonLine(Buffer.from('{"data":""}'), 'utf8', 'line 1')).toThrow(/empty/)
})

test('a line with an unknown encoding is refused', () => {
  expect(() => fromJsonLine(Buffer.from('{"data":"a","encoding":"hex"}'), 'utf8', 'line 1')).toThrow(
    /utf8, base64, json/,
  )
})
