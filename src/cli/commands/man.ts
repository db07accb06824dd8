import type { Command } from 'commander'
import { writeOut } from '../../terminal/output.js'
import { packageVersion } from '../../terminal/version.js'
import { manPage } from '../man-page.js'

export function register(program: Command, loadAll: () => Promise<readonly Command[]>): void {
  program
    .command('man')
    .summary('print the manual page')
    .description(
      'Print the manual page, which has the text of every --help, in the format of man(1): durlog man | man -l -',
    )
    .action(async () => writeOut(manPage(await loadAll(), packageVersion())))
}
