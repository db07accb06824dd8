/** `tail -F`: follows the log in a folder, even if another log replaces it. */
import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { isCode } from '../errors.js'
import { inspect, open, type ReadOnlyLog } from '../index.js'
import { warn } from '../terminal/output.js'
import { type PrintOptions, printRecords } from './print.js'

const POLL_MS = 250

/** A log, and the seq after its last printed record. */
interface Place {
  uuid: string
  nextSeq: number
}

/** Prints the log in `dir` from `firstSeq` on, and every later log in that folder from its beginning. Never returns. */
export async function followByName(
  dir: string,
  options: PrintOptions,
  firstSeq: (log: ReadOnlyLog) => Promise<number>,
): Promise<void> {
  const { json } = options.format
  let log = await openWhenThere(dir, json)
  let from = await firstSeq(log)
  for (;;) {
    const place = await followOne(log, from, options)
    await log.close()
    log = await openWhenThere(dir, json)
    if (log.uuid !== place.uuid) {
      warn('NEW_LOG', `${dir} holds a new log; printing it from its beginning`, json)
      from = log.firstSeq
    } else {
      from = Math.max(log.firstSeq, Math.min(place.nextSeq, log.nextSeq))
      warn('CUT', `the log was cut or trimmed; continuing at seq ${from}`, json)
    }
  }
}

/** Waits until there is a log in `dir`, and opens it. */
async function openWhenThere(dir: string, json: boolean): Promise<ReadOnlyLog> {
  for (let warned = false; ; ) {
    try {
      return await open(dir, { readOnly: true })
    } catch (error) {
      if (!isCode(error, 'ERR_DURLOG_NOT_FOUND')) throw error
      if (!warned) warn('WAITING', `there is no log in ${dir} yet; waiting for one`, json)
      warned = true
    }
    await wait(POLL_MS)
  }
}

/** Follows `log` until it is cut, trimmed past the reader, or replaced. */
async function followOne(log: ReadOnlyLog, from: number, options: PrintOptions): Promise<Place> {
  const place = { uuid: log.uuid, nextSeq: from }
  const ending = new AbortController()
  const onWritten = (seq: number): void => {
    place.nextSeq = seq + 1
  }
  const replaced = watchForNewLog(log, ending)
  try {
    await printRecords(log.read({ from, follow: true, signal: ending.signal }), { ...options, onWritten })
  } catch (error) {
    if (!ending.signal.aborted && !isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) throw error
  } finally {
    ending.abort()
    await replaced
  }
  return place
}

/** Aborts `ending` when the folder no longer holds `log`. Inspects the folder only if its entries have changed. */
async function watchForNewLog({ dir, uuid }: ReadOnlyLog, ending: AbortController): Promise<void> {
  const { signal } = ending
  for (let seen = ''; !signal.aborted; ) {
    await wait(POLL_MS, undefined, { signal }).catch(() => {})
    const { ino, mtimeMs } = (await stat(dir).catch(() => undefined)) ?? { ino: 0, mtimeMs: 0 }
    if (seen === `${ino} ${mtimeMs}`) continue
    seen = `${ino} ${mtimeMs}`
    const found = await inspect(dir).catch((error: unknown) => error)
    const gone = found instanceof Error ? isCode(found, 'ERR_DURLOG_NOT_FOUND') : (found as Place).uuid !== uuid
    if (gone) ending.abort()
  }
}
