import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Folders that are not in the repository, in addition to every node_modules and build. */
const MADE = ['dist', 'prebuilds', '.git']

/** Files and folders of the repository, as paths with slashes. */
function everythingBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = relative(root, join(root, folder, entry.name))
      .split(sep)
      .join('/')
    if (MADE.includes(path) || entry.name === 'node_modules' || entry.name === 'build') return []
    return entry.isDirectory() ? [path, ...everythingBelow(path)] : [path]
  })
}

const paths = new Set(everythingBelow('.'))
const names = [...new Set([...paths].map((path) => basename(path)))]
const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts)
const documents = [...paths].filter((path) => path.endsWith('.md') && !path.startsWith('.'))

/** A heading's anchor, as code hosts generate it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

function anchorsIn(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading as string))
}

const withWildcards = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[.]/g, '\\.').replaceAll('*', '[^/]*')}$`)

const exists = (path: string): boolean =>
  path.includes('*') ? [...paths].some((there) => withWildcards(path).test(there)) : paths.has(path)

/** The names in `markdown`, the document at `path`, that do not exist in the repository. */
function missingIn(path: string, markdown: string): string[] {
  const missing: string[] = []
  // Paths from the root, anywhere in the text.
  for (const [named] of markdown.matchAll(/(?<![\w./-])(?:src-native|src|test|scripts|docs|bench)\/[\w./*-]*[\w*]/g))
    if (!exists(named)) missing.push(named)
  // Names of files without a folder.
  for (const [, named] of markdown.matchAll(/`([\w.*-]+\.(?:md|json|gyp|cc|h|ts|mjs|cjs))`/g))
    if (!names.some((name) => withWildcards(named as string).test(name))) missing.push(named as string)
  for (const [, target, anchor] of markdown.matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)) {
    const file =
      target === ''
        ? path
        : normalize(join(dirname(path), target as string))
            .split(sep)
            .join('/')
    if (!exists(file)) missing.push(file)
    else if (anchor !== undefined && !anchorsIn(read(file)).includes(anchor)) missing.push(`${file}#${anchor}`)
  }
  for (const [, script] of markdown.matchAll(/npm run ([\w:-]+)/g))
    if (!scripts.includes(script as string)) missing.push(`npm run ${script}`)
  return missing
}

/** Rows of CONTRIBUTING's code map: a file, and a name in it. */
function hopsIn(markdown: string): [path: string, name: string][] {
  const [, map] = /^## Code map\n(.*?)^## /ms.exec(markdown) as unknown as [string, string]
  return [...map.matchAll(/^\| [^|\n]+ \| (.*) \|$/gm)]
    .filter(([, place]) => place !== 'place')
    .map(([, place]) => /^`(.*)`: `(.*)`$/.exec(place as string)?.slice(1) as [string, string])
}

const holds = (path: string, name: string): boolean =>
  paths.has(path) && new RegExp(`(?<!\\w)${name}(?!\\w)`).test(read(path))

test.each(documents)('%s names only paths, links, anchors and scripts that exist', (path) => {
  expect(missingIn(path, read(path))).toEqual([])
})

test('a path, file name, link, anchor or script that does not exist is found', () => {
  const markdown = [
    'see src/nowhere.ts and `test/core/*_nothing.cc`, also `nobody_at_home.cc`;',
    '[gone](GONE.md), [gone](docs/FORMAT.md#gone), `npm run gone`;',
    'but src/log/writer-log.ts, `test/core/log/*_test.cc`, `log.h`, [there](docs/FORMAT.md#recovery), [web](https://a.b/c) and `npm run check`',
  ].join('\n')
  expect(missingIn('README.md', markdown)).toEqual([
    'src/nowhere.ts',
    'test/core/*_nothing.cc',
    'nobody_at_home.cc',
    'GONE.md',
    'docs/FORMAT.md#gone',
    'npm run gone',
  ])
})

test("CONTRIBUTING's map leads to names that are in the files", () => {
  const hops = hopsIn(read('CONTRIBUTING.md'))
  expect(hops.length).toBeGreaterThan(80)
  expect(hops.filter(([path, name]) => !holds(path, name))).toEqual([])
})

test('a name that is no longer in its file is found', () => {
  const map =
    '## Code map\n| behaviour | place |\n|---|---|\n| It settles | `src/log/append/write-pipeline.ts`: `#settle` |\n'
  expect(hopsIn(`${map}## Layers`)).toEqual([['src/log/append/write-pipeline.ts', '#settle']])
  expect(holds('src/log/append/write-pipeline.ts', '#settle')).toBe(true)
  expect(holds('src/log/append/write-pipeline.ts', '#settl')).toBe(false)
  expect(holds('src/nowhere.ts', '#settle')).toBe(false)
})

test.each(['src-native', 'test', 'scripts'])('CONTRIBUTING.md describes the purpose of each part of %s', (folder) => {
  const contributing = read('CONTRIBUTING.md')
  const named = (path: string): boolean =>
    contributing.includes(path) || contributing.includes(`| \`${basename(path)}\` |`)
  const parts = [...paths].filter((path) => dirname(path) === folder && !/\.test\.ts$|tsconfig/.test(path))
  expect(parts.length).toBeGreaterThan(5)
  expect(
    parts.filter((path) => !named(path)),
    'to be added to the tables of CONTRIBUTING.md',
  ).toEqual([])
})

/** The titles of the tests in a file, and the names of the core's tests. */
const titlesIn = (path: string): string[] =>
  [...read(path).matchAll(/\b(?:test|it)(?:\.\w+)*\([^'"`]*(['"`])(.*?)\1/g)].map(([, , title]) => title as string)
const coreTests = [...paths]
  .filter((path) => /^test\/core\/.*_test\.cc$/.test(path))
  .flatMap((path) =>
    [...read(path).matchAll(/^TEST(?:_[FP])?\((\w+),\s*(\w+)/gm)].map(([, suite, name]) => `${suite}.${name}`),
  )

/** The tests that the commands in the code blocks of CONTRIBUTING select. */
const selections = [...read('CONTRIBUTING.md').matchAll(/^```sh\n(.*?)^```/gms)]
  .flatMap(([, block]) => (block as string).split('\n'))
  .map((line) => line.replace(/\s+#.*/, ''))
  .filter((line) => /--gtest_filter|vitest run|test:core -- /.test(line))

test('CONTRIBUTING shows commands that select tests', () => {
  expect(selections.length).toBeGreaterThan(3)
})

test.each(selections)('%s selects a test', (command) => {
  const [, filter] = /--gtest_filter='([^']+)'/.exec(command) ?? []
  if (filter !== undefined) expect(coreTests.filter((name) => withWildcards(filter).test(name))).not.toEqual([])
  const [, folder] = /test:core -- (?:--\w+ )*(\w+)/.exec(command) ?? []
  if (folder !== undefined) expect(coreTests.length > 0 && paths.has(`test/core/${folder}`)).toBe(true)
  const [, file, title] = /vitest run (\S+)(?: -t '([^']+)')?/.exec(command) ?? []
  if (file !== undefined) expect(titlesIn(file).filter((each) => each.includes(title ?? ''))).not.toEqual([])
})
