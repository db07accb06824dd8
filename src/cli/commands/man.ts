import type { Command } from 'commander'
import { writeOut } from '../../terminal/output.js'
import { packageVersion } from '../../terminal/version.js'
import { manPage } from '../man-page.js'

export function register(command: Command, loadAll: () => Promise<readonly Command[]>): void {
  command
    .description(
      'Print the manual page, which contains the text of every --help, in the format of man(1): durlog man | man -l -',
    )
    .action(async () => writeOut(manPage(await loadAll(), packageVersion())))
}
