/** The temporary folder of the doctor. The caretaker process creates and removes it. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { CaretakerAnswer, CaretakerRequest } from './caretaker.js'

const CARETAKER = fileURLToPath(new URL('./caretaker.js', import.meta.url))

export class Scratch {
  readonly folder: string
  readonly #caretaker: ChildProcess

  private constructor(folder: string, caretaker: ChildProcess) {
    this.folder = folder
    this.#caretaker = caretaker
  }

  /** Creates a folder in `parent`. Throws an Error with the reason if that is not possible. */
  static async make(parent: string): Promise<Scratch> {
    // Detached, so that the caretaker survives the doctor: Windows would end it with its parent, a terminal with its
    // group.
    const options: ForkOptions & { windowsHide: boolean } = {
      detached: true,
      windowsHide: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }
    const caretaker = fork(CARETAKER, [parent], options)
    const answer = await nextAnswer(caretaker)
    if ('folder' in answer) return new Scratch(answer.folder, caretaker)
    throw new Error('problem' in answer ? answer.problem : 'the helper process sent an unexpected message')
  }

  /**
   * Opens the log in `dir` for writing in another process. Returns the code of the error; '' if that process was not
   * refused.
   */
  async openElsewhere(dir: string): Promise<string> {
    const request: CaretakerRequest = { open: dir }
    this.#caretaker.send(request)
    const answer = await nextAnswer(this.#caretaker)
    return 'refused' in answer ? answer.refused : 'an unexpected message'
  }

  /** Removes the folder and its contents. */
  async remove(): Promise<void> {
    const ended = once(this.#caretaker, 'exit')
    if (!this.#caretaker.connected) return
    this.#caretaker.disconnect()
    await ended
  }
}

/** Returns the next message of the caretaker. Throws if it ends without a message. */
function nextAnswer(caretaker: ChildProcess): Promise<CaretakerAnswer> {
  return new Promise((resolve, reject) => {
    const onEnd = (): void => reject(new Error('the helper process ended'))
    caretaker.once('exit', onEnd)
    caretaker.once('error', reject)
    caretaker.once('message', (answer: CaretakerAnswer) => {
      caretaker.off('exit', onEnd)
      caretaker.off('error', reject)
      resolve(answer)
    })
  })
}
