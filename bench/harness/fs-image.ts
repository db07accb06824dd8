/** A file system in an image file: made, mounted, and always removed. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareFile } from './baselines.js'
import { makeScratch, removeScratch, whenEnding } from './scratch.js'

export const IMAGE_FILE_SYSTEMS = ['ext4', 'xfs', 'btrfs'] as const
export type ImageFileSystem = (typeof IMAGE_FILE_SYSTEMS)[number]

const GIB = 2 ** 30
/** Room for the suites: quick, full, and with one that writes ten gigabytes, which copy-on-write may hold twice. */
const IMAGE_BYTES = { quick: 4 * GIB, full: 8 * GIB, big: 22 * GIB }

/** Arguments that format a file without a question. */
const FORMAT: Record<ImageFileSystem, string[]> = {
  ext4: ['mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0'],
  xfs: ['mkfs.xfs', '-q', '-f'],
  btrfs: ['mkfs.btrfs', '-q', '-f'],
}

/** Runs a program; its error output is in the error if it fails. */
function runTool(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (error) {
    const { stderr, code } = error as { stderr?: string; code?: string }
    if (code === 'ENOENT') throw new Error(`${program} is not installed`, { cause: error })
    throw new Error(`${program} ${args.join(' ')}: ${stderr?.trim() || String(error)}`, { cause: error })
  }
}

/** Runs the clean-up steps, the last first; a step that fails does not stop the others. */
class Undo {
  #steps: (() => void)[] = []

  push(step: () => void): void {
    this.#steps.push(step)
  }

  run(): void {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        step()
      } catch (error) {
        process.stderr.write(`clean-up: ${(error as Error).message}\n`)
      }
    }
  }
}

function mount(type: ImageFileSystem, image: string, point: string, undo: Undo): void {
  // Direct I/O on the image keeps the host's page cache out of the figures, if the host supports it.
  const loop = attachLoop(image)
  undo.push(() => runTool('losetup', ['--detach', loop]))
  const [program, ...args] = FORMAT[type] as [string, ...string[]]
  runTool(program, [...args, loop])
  mkdirSync(point)
  runTool('mount', ['-t', type, loop, point])
  undo.push(() => unmount(point))
}

/** After a signal files may still be open in it: then it is unmounted when the process ends. */
function unmount(point: string): void {
  try {
    runTool('umount', [point])
  } catch {
    runTool('umount', ['--lazy', point])
  }
}

function attachLoop(image: string): string {
  try {
    return runTool('losetup', ['--find', '--show', '--direct-io=on', image])
  } catch {
    return runTool('losetup', ['--find', '--show', image])
  }
}

/** Runs `body` with a folder on a fresh file system, whose image is below `dir`. Root only, Linux only. */
export async function withImage<T>(
  type: ImageFileSystem,
  dir: string,
  extent: 'quick' | 'full' | 'big',
  body: (folder: string) => Promise<T>,
): Promise<T> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new Error('--fs-image mounts a file system: it needs Linux and root')
  }
  const undo = new Undo()
  const folder = await makeScratch(dir)
  const forget = whenEnding(() => undo.run())
  try {
    const image = join(folder, `${type}.img`)
    // Zeros are written: else the first write to each block would pay for the host's allocation too.
    await prepareFile(image, 'zero', IMAGE_BYTES[extent])
    mount(type, image, join(folder, 'mounted'), undo)
    return await body(join(folder, 'mounted'))
  } finally {
    undo.run()
    forget()
    rmSync(join(folder, `${type}.img`), { force: true })
    await removeScratch(folder)
  }
}
