/**
 * A thread of this process that answers one message at a time. It keeps the process alive only while a message waits
 * for its answer.
 */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

export class WorkerThread<To, From> {
  readonly #worker: Worker
  #onAnswer: ((answer: From) => void) | undefined

  private constructor(worker: Worker, onEnded: (cause?: unknown) => From) {
    this.#worker = worker
    worker.unref()
    worker.on('message', (answer: From) => this.#onAnswer?.(answer))
    const ended = (cause?: unknown): void => {
      const answer = onEnded(cause)
      this.#onAnswer?.(answer)
    }
    worker.on('error', ended)
    worker.on('exit', () => ended())
  }

  /**
   * Starts a thread that runs the program `file`. Returns undefined if the file does not exist, for example in a
   * bundle. `onEnded` is called when the thread ends, twice if it ends with an error. Its result becomes the answer to
   * a message that is still waiting.
   */
  static start<To, From>(
    file: string | undefined,
    name: string,
    onEnded: (cause?: unknown) => From,
  ): WorkerThread<To, From> | undefined {
    if (file === undefined || !existsSync(file)) return undefined
    return new WorkerThread(new Worker(file, { name, execArgv: [], stdin: false }), onEnded)
  }

  /** Sends a message and waits for its answer. The next call must wait for it too. */
  async request(message: To): Promise<From> {
    const answer = new Promise<From>((resolve) => {
      this.#onAnswer = resolve
    })
    this.#worker.ref()
    this.post(message)
    const answered = await answer
    this.#onAnswer = undefined
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
