import { readdirSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { ExitCode } from '../../terminal/exit-codes.js'
import { formatItems } from '../../terminal/help.js'
import { InputError } from '../../terminal/input-error.js'
import { writeOut } from '../../terminal/output.js'

const FOLDER = new URL('../../../examples/', import.meta.url)

export function register(command: Command): void {
  command
    .description('Print an example program, or list the examples if no name is given.')
    .argument('[name]', 'the example, such as outbox-consumer')
    .action(run)
}

/** Returns the first sentence of the comment at the beginning of an example. */
function summaryOf(file: string): string {
  const comment = /^(?:(?:\/\/|#|<!--) ?.*\n)+/.exec(readFileSync(new URL(file, FOLDER), 'utf8'))?.[0] ?? ''
  const [sentence = ''] = comment
    .replaceAll(/^(?:\/\/|#|<!--) ?| -->$/gm, '')
    .replaceAll('\n', ' ')
    .split('. ')
  return sentence.trim()
}

async function run(name: string | undefined, _: unknown, command: Command): Promise<void> {
  const files = readdirSync(FOLDER).sort()
  const nameOf = (file: string): string => file.replace(/\.(?:[cm]js|html|py|service|yml)$/, '')
  if (name === undefined) {
    const items = files.map((file) => [nameOf(file), summaryOf(file)] as const)
    return await writeOut(`${formatItems(command, items, process.stdout.columns ?? Number.POSITIVE_INFINITY)}\n`)
  }
  const file = files.find((each) => each === name || nameOf(each) === name)
  if (file === undefined) {
    throw new InputError(`there is no example "${name}"; there are ${files.map(nameOf).join(', ')}`, ExitCode.usage)
  }
  await writeOut(readFileSync(new URL(file, FOLDER), 'utf8'))
}
