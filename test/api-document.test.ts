import { EventEmitter } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { resolveOptions } from '../src/options/open-options.js'
import type { OpenOptions } from '../src/types.js'
import { type Declaration, declarationsOf, type Member } from './fixtures/declarations.js'
import { openUntilDone, scratchLog } from './fixtures/scratch.js'

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')

const sourceNames = readdirSync(fileURLToPath(new URL('../src', import.meta.url)), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((name) => name.endsWith('.ts') && !/^(cli|terminal)/.test(name))
  // A class may have the name of the interface that it implements; the library exports only the interface.
  .sort((a, b) => Number(/[\\/]/.test(b)) - Number(/[\\/]/.test(a)))
const declared = new Map(
  sourceNames
    .flatMap((name) => [...declarationsOf(read(`src/${name}`))])
    .sort(([, a], [, b]) => Number(a.isExported) - Number(b.isExported)),
)

/** The exports of `src/index.ts`, by name. */
function exportsOf(index: string): Map<string, Declaration> {
  const names = [...index.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list]) =>
    (list as string).split(',').map((name) => name.trim().replace(/^type /, '')),
  )
  for (const [, file] of index.matchAll(/export type \* from '\.\/([^']+)\.js'/g))
    for (const [name, { isExported }] of declarationsOf(read(`src/${file}.ts`))) if (isExported) names.push(name)
  const found = new Map<string, Declaration>()
  for (const name of names.filter((name) => name !== '')) {
    const declaration = declared.get(name)
    if (declaration === undefined) throw new Error(`src/index.ts exports ${name}; no file of src/ declares it`)
    found.set(name, declaration)
  }
  return found
}

const exported = exportsOf(read('src/index.ts'))

/** Its own members and those of the types that it extends, except exported types, which have separate sections. */
function membersOf(declaration: Declaration): Member[] {
  const inherited = declaration.bases.flatMap(({ name, omitted }) => {
    const base = exported.has(name) ? undefined : declared.get(name)
    return base === undefined ? [] : membersOf(base).filter((member) => !omitted.includes(member.name))
  })
  return [...declaration.members, ...inherited]
}

const spelled = ({ name, parameters }: Member): string => (parameters === undefined ? name : `${name}(${parameters})`)

interface Section {
  title: string
  entries: string[]
}

/**
 * The page by its third-level headings, each of which names one or two exports. An entry is a row or a heading below.
 */
function sectionsOf(page: string): Map<string, Section> {
  const sections = new Map<string, Section>()
  for (const text of page.split(/^(?=##? |### )/m)) {
    const title = /^### (`.*)$/m.exec(text)?.[1]
    if (title === undefined) continue
    const entries = [...text.matchAll(/^(?:\| |#### )`([^`]+)`/gm)].map(([, entry]) =>
      (entry as string).replace('[]', ''),
    )
    for (const [, name] of title.matchAll(/`(\w+)[^`]*`/g)) sections.set(name as string, { title, entries })
  }
  return sections
}

/** The required sections of the page, by title: a function's section has its parameters, others have their entries. */
function sectionsWanted(page: Map<string, Section>): Map<string, Section> {
  const wanted = new Map<string, Section>()
  for (const [name, declaration] of exported) {
    const signature = declaration.kind === 'function' ? `\`${name}(${declaration.parameters})\`` : `\`${name}\``
    // Two exports with the same members share a section.
    const shared = page.get(name)?.title.split(', ') ?? []
    const title = declaration.kind !== 'function' && shared.includes(signature) ? shared.join(', ') : signature
    const entries = [
      ...(wanted.get(title)?.entries ?? []),
      ...membersOf(declaration).map(spelled),
      ...declaration.literals,
    ]
    wanted.set(title, { title, entries: [...new Set(entries)] })
  }
  return wanted
}

/** The changes that `page` needs to describe the exports, one line each. */
function complaints(page: string): string[] {
  const described = sectionsOf(page)
  const byTitle = new Map([...described.values()].map((section) => [section.title, section.entries]))
  const wanted = sectionsWanted(described)
  const lines: string[] = []
  for (const { title, entries } of wanted.values()) {
    const there = byTitle.get(title)
    if (there === undefined) lines.push(`add the section "### ${title}" to docs/API.md`)
    const missing = entries.filter((entry) => !(there ?? []).includes(entry))
    for (const entry of missing)
      lines.push(
        entry.includes('(')
          ? `add the heading "#### \`${entry}\`" below "### ${title}" in docs/API.md`
          : `add the row "| \`${entry}\` | … |" below "### ${title}" in docs/API.md`,
      )
    for (const entry of there ?? [])
      if (!entries.includes(entry)) lines.push(`delete \`${entry}\` below "### ${title}" in docs/API.md: src/ has none`)
  }
  for (const title of byTitle.keys())
    if (!wanted.has(title)) lines.push(`delete the section "### ${title}" from docs/API.md: src/index.ts exports none`)
  return lines
}

const api = read('docs/API.md')

test('docs/API.md has an entry for every export, option, method, event, field and code, and for nothing else', () => {
  expect(exported.size).toBeGreaterThan(20)
  expect(complaints(api)).toEqual([])
})

test.each([
  [
    'an option',
    /^\| `segmentBytes` .*\n/m,
    'add the row "| `segmentBytes` | … |" below "### `OpenOptions`" in docs/API.md',
  ],
  [
    'a nested field',
    /^\| `damage.segment` .*\n/m,
    'add the row "| `damage.segment` | … |" below "### `LogRecovery`" in docs/API.md',
  ],
  [
    'a method',
    /^#### `truncateAfter.*\n/m,
    'add the heading "#### `truncateAfter(seq, options?)`" below "### `Log`" in docs/API.md',
  ],
  ['an event', /^\| `latched` .*\n/m, 'add the row "| `latched` | … |" below "### `LogEvents`" in docs/API.md'],
  [
    'a code',
    /^\| `ERR_DURLOG_IO` .*\n/m,
    'add the row "| `ERR_DURLOG_IO` | … |" below "### `DurlogErrorCode`" in docs/API.md',
  ],
  ['a function', /^### `verify.*\n/m, 'add the section "### `verify(dir)`" to docs/API.md'],
])('%s without its entry is reported with the line to add', (_what, entry, complaint) => {
  expect(api).toMatch(entry)
  expect(complaints(api.replace(entry, ''))).toEqual([complaint])
})

test('an entry for a member that does not exist is reported with the line to delete', () => {
  const page = api
    .replace('| `dir` | the folder', '| `colour` | blue |\n| `dir` | the folder')
    .replace('#### `get(seq)`', '#### `get(seq, options?)`')
    .concat('\n### `Nothing`\n')
  expect(complaints(page)).toEqual([
    'add the heading "#### `get(seq)`" below "### `ReadableLog`" in docs/API.md',
    'delete `colour` below "### `ReadableLog`" in docs/API.md: src/ has none',
    'delete `get(seq, options?)` below "### `ReadableLog`" in docs/API.md: src/ has none',
    'delete the section "### `Nothing`" from docs/API.md: src/index.ts exports none',
  ])
})

const UNITS: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }

/** "64 KiB" as 65,536; NaN for text that is not a number. */
function amount(text: string): number {
  const [, number, unit] = /^(\d+)(?: (\w+))?$/.exec(text) ?? []
  return Number(number) * (UNITS[unit ?? ''] ?? 1)
}

/** Rows of the options of `open` that are numbers: name, default, and both ends of the range. */
const numbers = [...api.matchAll(/^\| `([\w.]+)` \| (\d[^|]*) \| (\d[^|]*?) to (\d+(?: \w+)?)/gm)]
  .map(
    ([, name, preset, min, max]) =>
      [name, amount(preset as string), amount(min as string), amount(max as string)] as const,
  )
  .filter(([name]) => name !== 'highWaterMark')

test.each(numbers)('open accepts %s as in docs/API.md: default %d, range %d to %d', (name, preset, min, max) => {
  // Options that limit other options have their largest value.
  const roomy: OpenOptions = { segmentBytes: 2 ** 30, maxPendingBytes: 2 ** 31 }
  const withOption = (value: number): OpenOptions => ({ ...roomy, [name as string]: value })
  const { native, ...resolved } = resolveOptions()
  const presets: Record<string, unknown> = { ...native, ...resolved }
  expect(presets[name as string]).toBe(preset)
  for (const value of [min, max]) expect(() => resolveOptions(withOption(value))).not.toThrow()
  for (const value of [min - 1, max + 1]) expect(() => resolveOptions(withOption(value))).toThrow(/must be/)
})

test('open enforces the range of every number option', () => {
  expect(numbers.map(([name]) => name)).toEqual([
    'segmentBytes',
    'maxPendingBytes',
    'maxRecordBytes',
    'commitDelayMicros',
    'waitMs',
  ])
})

test('every code has code that raises it, and every code that is raised or documented is a DurlogErrorCode', () => {
  const codes = (declared.get('DurlogErrorCode') as Declaration).literals
  const raising = sourceNames.filter((name) => name !== 'errors.ts').map((name) => `src/${name}`)
  const raised = [...raising, 'src-native/napi/convert_error.cc'].flatMap(
    (path) => read(path).match(/(?<=['"])ERR_DURLOG_\w+/g) ?? [],
  )
  expect(codes.filter((code) => !raised.includes(code))).toEqual([])
  const documents = [
    'README.md',
    'docs/API.md',
    'docs/DURABILITY.md',
    'docs/FORMAT.md',
    'docs/SECURITY.md',
    'src/types.ts',
  ]
  const named = documents.flatMap((path) => read(path).match(/ERR_DURLOG_\w+/g) ?? [])
  expect([...raised, ...named].filter((code) => !codes.includes(code))).toEqual([])
})

/** The names of the methods and accessors of `object`, without symbols and without those of an EventEmitter. */
function methodsOf(object: object): string[] {
  const names: string[] = []
  const isOwn = (prototype: object): boolean => prototype !== Object.prototype && prototype !== EventEmitter.prototype
  for (let prototype = Object.getPrototypeOf(object); isOwn(prototype); prototype = Object.getPrototypeOf(prototype))
    names.push(...Object.getOwnPropertyNames(prototype))
  return [...new Set(names)].filter((name) => name !== 'constructor')
}

test('the objects that a user gets have no methods in addition to those of their types', async () => {
  const log = await scratchLog()
  const objects: [object, ...types: string[]][] = [
    [log, 'Log', 'ReadableLog'],
    [await openUntilDone(log.dir, { readOnly: true }), 'ReadOnlyLog', 'ReadableLog'],
    [await log.cursor('reader'), 'DurableCursor'],
    [log.read(), 'RecordReader'],
    [log.read().batches(), 'RecordBatches'],
  ]
  for (const [object, ...types] of objects) {
    const names = types.flatMap((type) => (exported.get(type) as Declaration).members.map(({ name }) => name))
    expect([types, methodsOf(object).filter((name) => !names.includes(name))]).toEqual([types, []])
  }
})
