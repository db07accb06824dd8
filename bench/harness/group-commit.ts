/** Group commit in ten lines of JS: what somebody writes first, and what gives synchronous peers a fair chance. */

interface Waiting {
  data: Buffer
  resolve: () => void
  reject: (error: unknown) => void
}

/** Makes `append` out of `commit`: what arrives while one commit is under way forms the next group. */
export function groupCommit(commit: (group: readonly Buffer[]) => Promise<unknown>): (data: Buffer) => Promise<void> {
  let waiting: Waiting[] = []
  let committing = false
  const run = async (): Promise<void> => {
    committing = true
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await commit(group.map(({ data }) => data))
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    committing = false
  }
  return (data) =>
    new Promise((resolve, reject) => {
      waiting.push({ data, resolve, reject })
      // A microtask later, so that appends made in one go form one group.
      if (!committing) {
        committing = true
        queueMicrotask(run)
      }
    })
}
