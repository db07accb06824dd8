/** An error in a command's input or arguments. */
import { ExitCode } from './exit-codes.js'

export class InputError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = ExitCode.badInput) {
    super(message)
    this.exitCode = exitCode
  }
}
