/**
 * A helper process of `durlog doctor`. It creates the doctor's temporary folder, tries to open the log there as a
 * second writer, and removes the folder after the doctor has ended, even if the doctor was killed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from './finding.js'

export type CaretakerRequest = { open: string }
export type CaretakerAnswer = { folder: string } | { refused: string } | { problem: string }

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

/**
 * Sends a message to the doctor. Ignores errors: if the doctor has ended, this process ends when the channel closes.
 */
const answer = (message: CaretakerAnswer): void => void process.send?.(message, () => {})

/** Returns the error code with which a second writer is refused; '' if it is not refused. */
async function tryOpen(dir: string): Promise<string> {
  const { openOrdered } = await import('../../open.js')
  try {
    const log = await openOrdered(dir, {})
    await log.close()
    return ''
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

function main(parent: string): void {
  let folder: string
  try {
    folder = mkdtempSync(join(parent, '.durlog-doctor-'))
  } catch (error) {
    answer({ problem: describeError(error) })
    process.disconnect()
    return
  }
  process.on('disconnect', () => {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      process.stderr.write(`durlog: can't remove ${folder}: ${describeError(error)}\n`)
    }
    process.exit()
  })
  process.on('message', ({ open }: CaretakerRequest) => void tryOpen(open).then((refused) => answer({ refused })))
  answer({ folder })
}

main(process.argv[2] as string)
