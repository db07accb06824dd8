/**
 * A thread of this process that answers one message at a time. It keeps the process alive only while a message waits
 * for its answer.
 */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

export class AskedThread<To, From> {
  readonly #worker: Worker
  #answered: ((answer: From) => void) | undefined

  private constructor(worker: Worker, onEnded: (cause?: unknown) => From) {
    this.#worker = worker
    worker.unref()
    worker.on('message', (answer: From) => this.#answered?.(answer))
    const ended = (cause?: unknown): void => {
      const answer = onEnded(cause)
      this.#answered?.(answer)
    }
    worker.on('error', ended)
    worker.on('exit', () => ended())
  }

  /**
   * Starts a thread that runs the program `file`. Returns undefined if the file does not exist, for example in a
   * bundle. If the thread ends before it answers a message, `onEnded` returns the answer.
   */
  static start<To, From>(
    file: string | undefined,
    name: string,
    onEnded: (cause?: unknown) => From,
  ): AskedThread<To, From> | undefined {
    if (file === undefined || !existsSync(file)) return undefined
    return new AskedThread(new Worker(file, { name, execArgv: [], stdin: false }), onEnded)
  }

  async ask(message: To): Promise<From> {
    const answer = new Promise<From>((resolve) => {
      this.#answered = resolve
    })
    this.#worker.ref()
    this.post(message)
    const answered = await answer
    this.#answered = undefined
    this.#worker.unref()
    return answered
  }

  /** Sends a message that has no answer. */
  post(message: To): void {
    this.#worker.postMessage(message)
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }
}
