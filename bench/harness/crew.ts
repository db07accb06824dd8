/**
 * Processes or worker threads that run jobs concurrently. They are kept between jobs, so that no figure includes their
 * start.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { AppendJob, FromMember, ToMember } from './crew-member.js'
import { sum } from './stats.js'

const MEMBER = fileURLToPath(new URL('./crew-member.js', import.meta.url))

export class Crew {
  readonly #members: (ChildProcess | Worker)[]

  private constructor(members: (ChildProcess | Worker)[]) {
    this.#members = members
  }

  static ofProcesses(count: number): Crew {
    return new Crew(Array.from({ length: count }, () => fork(MEMBER)))
  }

  static ofThreads(count: number): Crew {
    return new Crew(Array.from({ length: count }, () => new Worker(MEMBER)))
  }

  /**
   * Runs one job on each of the first members. Returns the milliseconds from the first start to the last end, and the
   * number of appends that were acknowledged.
   */
  async run(jobs: readonly AppendJob[]): Promise<{ ms: number; acknowledged: number }> {
    const members = this.#members.slice(0, jobs.length)
    // Waits for all members even if one fails. Otherwise the responses of the others would be taken for those to the
    // next message.
    const all = async (messageTo: (i: number) => ToMember): Promise<FromMember[]> => {
      const answers = members.map((member, i) => ask(member, messageTo(i)))
      await Promise.allSettled(answers)
      return Promise.all(answers)
    }
    await all((i) => ({ kind: 'prepare', job: jobs[i] as AppendJob }))
    const times = (await all(() => ({ kind: 'go' }))).flatMap((answer) => (answer.kind === 'done' ? [answer] : []))
    await all(() => ({ kind: 'finish' }))
    const starts = times.map(({ startNs }) => BigInt(startNs)).sort((a, b) => (a < b ? -1 : 1))
    const ends = times.map(({ endNs }) => BigInt(endNs)).sort((a, b) => (a < b ? 1 : -1))
    return {
      ms: Number((ends[0] ?? 0n) - (starts[0] ?? 0n)) / 1e6,
      acknowledged: sum(times.map(({ acknowledged }) => acknowledged)),
    }
  }

  dismiss(): void {
    for (const member of this.#members) send(member, { kind: 'quit' })
  }
}

function send(member: ChildProcess | Worker, message: ToMember): void {
  if (member instanceof Worker) member.postMessage(message)
  else member.send(message)
}

async function ask(member: ChildProcess | Worker, message: ToMember): Promise<FromMember> {
  send(member, message)
  const [answer] = (await once(member, 'message')) as [FromMember]
  if (answer.kind === 'failed') throw Object.assign(new Error(answer.message), { unsupported: answer.unsupported })
  return answer
}
