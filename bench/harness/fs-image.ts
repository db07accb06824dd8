/** A file system in an image file, which is created, mounted, and removed afterwards in any case. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareFile } from './baselines.js'
import { makeScratch, removeScratch, whenEnding } from './scratch.js'

export const IMAGE_FILE_SYSTEMS = ['ext4', 'xfs', 'btrfs'] as const
export type ImageFileSystem = (typeof IMAGE_FILE_SYSTEMS)[number]

const GIB = 2 ** 30
/**
 * The size of the image. `big` is for a suite that writes ten gigabytes, which a copy-on-write file system may hold
 * twice.
 */
const IMAGE_BYTES = { quick: 4 * GIB, full: 8 * GIB, big: 22 * GIB }

/** The commands that format a device without asking. */
const FORMAT: Record<ImageFileSystem, string[]> = {
  ext4: ['mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0'],
  xfs: ['mkfs.xfs', '-q', '-f'],
  btrfs: ['mkfs.btrfs', '-q', '-f'],
}

/** Runs a program and returns its output. If it fails, the error contains its error output. */
function runTool(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (error) {
    const { stderr, code } = error as { stderr?: string; code?: string }
    if (code === 'ENOENT') throw new Error(`${program} is not installed`, { cause: error })
    throw new Error(`${program} ${args.join(' ')}: ${stderr?.trim() || String(error)}`, { cause: error })
  }
}

/** Runs clean-up steps in reverse order. If a step fails, the others still run. */
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

/**
 * Unmounts a file system. After a signal, files in it may still be open: then it is unmounted when the process ends.
 */
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

/** Runs `body` with a folder on a new file system, whose image is in `dir`. Needs Linux and root. */
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
    // Filled with zeros: otherwise the first write to each block would include an allocation on the host.
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
