// `npm version` runs this. Fails if CHANGELOG.md has no dated heading for the version of package.json. With a tag as
// argument, it also fails if the tag is not "v" followed by that version.
import { readFileSync } from 'node:fs'
import { argv, exit } from 'node:process'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const heading = readFileSync('CHANGELOG.md', 'utf8')
  .split('\n')
  .find((line) => line.startsWith(`## ${version} `))

if (heading === undefined || !/\(\d{4}-\d{2}-\d{2}\)$/.test(heading)) {
  console.error(
    `CHANGELOG.md needs a heading "## ${version} (YYYY-MM-DD)"; it has ${heading ? `"${heading}"` : 'none for this version'}`,
  )
  exit(1)
}

const [, , tag] = argv
if (tag !== undefined && tag !== `v${version}`) {
  console.error(`the tag is ${tag}, but package.json has version ${version}; the tag must be v${version}`)
  exit(1)
}
