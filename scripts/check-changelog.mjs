// `npm version` runs this: a version that CHANGELOG.md does not describe, or still calls unreleased, is refused.
import { readFileSync } from 'node:fs'
import { exit } from 'node:process'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const heading = readFileSync('CHANGELOG.md', 'utf8')
  .split('\n')
  .find((line) => line.startsWith(`## ${version} `))

if (heading === undefined || !/\(\d{4}-\d{2}-\d{2}\)$/.test(heading)) {
  console.error(
    `CHANGELOG.md needs a heading "## ${version} (YYYY-MM-DD)"; it has ${heading ?? 'none for this version'}`,
  )
  exit(1)
}
