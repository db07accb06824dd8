/** Group commit in a few lines of JS: the obvious first solution, and a fair chance for synchronous peers. */

interface Waiting {
  data: Buffer
  resolve: () => void
  reject: (error: unknown) => void
}

/** Makes `append` of `commit`: appends that arrive during a commit form the next group. */
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
      // In a microtask, so that the appends of one turn form one group.
      if (!committing) {
        committing = true
        queueMicrotask(run)
      }
    })
}
