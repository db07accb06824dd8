import { expect, test } from 'vitest'
import { COLOURED, PLAIN, renderTable } from '../../src/terminal/table.js'

test('a table aligns its columns within lines', () => {
  expect(
    renderTable(
      ['name', 'us'],
      [
        ['a', '10.5'],
        ['longer', '7'],
      ],
      ['left', 'right'],
      PLAIN,
    ),
  ).toBe(
    [
      '┌────────┬──────┐',
      '│ name   │   us │',
      '├────────┼──────┤',
      '│ a      │ 10.5 │',
      '│ longer │    7 │',
      '└────────┴──────┘',
    ].join('\n'),
  )
})

test('colours take no width in a table', () => {
  const [top, , , row] = renderTable(['x'], [['\x1b[2mabc\x1b[0m']], ['left'], PLAIN).split('\n')
  expect(top).toBe('┌─────┐')
  expect(row).toBe('│ \x1b[2mabc\x1b[0m │')
  expect(renderTable(['x'], [], ['left'], COLOURED)).toContain('\x1b[36m x \x1b[39m')
})
