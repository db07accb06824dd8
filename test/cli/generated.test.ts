/** The completion scripts and the manual page, which are generated from the texts of --help. */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COMMANDS, loadAll } from '../../src/cli/command-list.js'
import { durlog } from '../fixtures/command.js'
import { scratchDir } from '../fixtures/scratch.js'

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0

test.skipIf(!has('bash'))('bash completes commands, options and their values', async () => {
  const script = join(scratchDir(), 'durlog')
  writeFileSync(script, (await durlog(['completion', 'bash'])).stdout)
  const complete = (...words: string[]): string[] => {
    const run = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _durlog; echo "'.concat(
      '$',
      '{COMPREPLY[*]}"',
    )
    return execFileSync('bash', ['-c', run, 'bash', script, 'durlog', ...words])
      .toString()
      .trim()
      .split(' ')
  }
  expect(complete('ver')).toEqual(['verify'])
  expect(complete('append', '--dur')).toEqual(['--durability'])
  expect(complete('append', '-d', 's')).toEqual(['sync'])
  expect(complete('completion', 'f')).toEqual(['fish'])
  expect(complete('help', 'rest')).toEqual(['restore'])
  expect(complete('')).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)))
})

test.each(['zsh', 'fish'])('the script for %s has every command, and the shell accepts it', async (shell) => {
  const script = (await durlog(['completion', shell])).stdout.toString()
  for (const { name } of COMMANDS) expect(script).toContain(name)
  expect(script).toContain('durability')
  if (!has(shell)) return
  const file = join(scratchDir(), 'script')
  writeFileSync(file, script)
  expect(spawnSync(shell, ['-n', file]).stderr.toString()).toBe('')
})

/** The text of `--help` of each command. */
const helps = new Map<string, string>()
for (const command of await loadAll()) {
  command.configureOutput({ writeOut: (text) => void helps.set(command.name(), text) }).outputHelp()
}

test('the manual page has every command and every option of --help', async () => {
  const page = (await durlog(['man'])).stdout.toString().replaceAll('\\-', '-')
  expect(page).toMatch(/^\.TH DURLOG 1 /)
  for (const { name } of COMMANDS) {
    for (const option of (helps.get(name) as string).match(/^ {2}(-., )?--[a-z-]+/gm) ?? [])
      expect(page).toContain(option.trim())
    expect(page).toContain(`.SS durlog ${name} `)
  }
})

test.skipIf(!has('man'))('man formats the manual page without a warning', async () => {
  const file = join(scratchDir(), 'durlog.1')
  writeFileSync(file, (await durlog(['man'])).stdout)
  const { stdout, stderr } = spawnSync('man', ['--warnings', '-l', file], { env: { ...process.env, MANPAGER: 'cat' } })
  expect(stderr.toString()).toBe('')
  expect(stdout.toString()).toContain('durlog')
})

test('the manual page has every action of streams', async () => {
  const page = (await durlog(['man'])).stdout.toString()
  for (const action of ['ls', 'stat [NAME]', 'fork NAME NEW', 'import FILE...', 'verify'])
    expect(page).toContain(`.TP\n.B ${action}\n`)
})

test('each --help fits 80 columns', () => {
  for (const { name } of COMMANDS)
    expect((helps.get(name) as string).split('\n').filter((line) => line.length > 80)).toEqual([])
})
