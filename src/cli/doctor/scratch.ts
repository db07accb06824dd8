/** The folder that the doctor tries things in. The caretaker makes and removes it. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Request } from './caretaker.js'

const CARETAKER = fileURLToPath(new URL('./caretaker.js', import.meta.url))

export class Scratch {
  readonly folder: string
  readonly #caretaker: ChildProcess

  private constructor(folder: string, caretaker: ChildProcess) {
    this.folder = folder
    this.#caretaker = caretaker
  }

  /** A new folder in `parent`. Throws an Error that says why there is none. */
  static async make(parent: string): Promise<Scratch> {
    // Detached: Windows ends the other children of a process that is killed, and a terminal those of its group.
    const options: ForkOptions & { windowsHide: boolean } = {
      detached: true,
      windowsHide: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }
    const caretaker = fork(CARETAKER, [parent], options)
    const answer = await nextAnswer(caretaker)
    if ('folder' in answer) return new Scratch(answer.folder, caretaker)
    throw new Error('problem' in answer ? answer.problem : 'the helper process gave a wrong answer')
  }

  /** The code that another process is refused with when it opens the log in `dir` for writing; '' if it is not. */
  async openElsewhere(dir: string): Promise<string> {
    const request: Request = { open: dir }
    this.#caretaker.send(request)
    const answer = await nextAnswer(this.#caretaker)
    return 'refused' in answer ? answer.refused : 'a wrong answer'
  }

  /** Removes the folder with all that is in it. */
  async remove(): Promise<void> {
    const ended = once(this.#caretaker, 'exit')
    if (!this.#caretaker.connected) return
    this.#caretaker.disconnect()
    await ended
  }
}

/** Throws if the process ends without one. */
function nextAnswer(caretaker: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onEnd = (): void => reject(new Error('the helper process ended'))
    caretaker.once('exit', onEnd)
    caretaker.once('error', reject)
    caretaker.once('message', (answer: Answer) => {
      caretaker.off('exit', onEnd)
      caretaker.off('error', reject)
      resolve(answer)
    })
  })
}
