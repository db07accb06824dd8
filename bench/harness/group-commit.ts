/**
 * Group commit in a few lines of JavaScript: a baseline itself, and a fair way to use alternatives with synchronous
 * commits.
 */

interface Waiting<T> {
  data: T
  resolve: () => void
  reject: (error: unknown) => void
}

/** Returns an `append` that calls `commit` for groups: appends that arrive during a commit form the next group. */
export function groupCommit<T>(commit: (group: readonly T[]) => Promise<unknown>): (data: T) => Promise<void> {
  let waiting: Waiting<T>[] = []
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
