/** Makes several requests at the same time. */

/** The number of requests that are in flight at the same time. */
const CONCURRENT_REQUESTS = 8

/**
 * Calls `request` for each item, for several at the same time, and returns the results in the order of the items. After
 * a failure, starts no more requests, and rejects when those in flight have settled.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  request: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const failures: unknown[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length && failures.length === 0; at = next++) {
      try {
        results[at] = await request(items[at] as Item, at)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, work))
  if (failures.length > 0) throw failures[0]
  return results
}
