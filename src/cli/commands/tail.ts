import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Command } from 'commander'
import { isCode } from '../../errors.js'
import { inspect, open, type ReadOnlyLog } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { warn } from '../../terminal/output.js'
import { addTimes, type TimeFlags } from '../arguments.js'
import { type PrintOptions, printRecords } from '../print.js'

const DEFAULT_LINES = 10

interface Flags extends TimeFlags {
  lines?: number
  follow?: boolean
  followByName?: boolean
  cursor?: string
  times?: boolean
  json?: boolean
}

export function register(command: Command): void {
  command
    .description('Print the last records as they are, each followed by a newline. Takes no lock.')
    .argument('<dir>', 'the folder of the log')
    .option('-n, --lines <count>', 'the number of records (default: 10; with --since all)', parseWhole)
    .option('-f, --follow', 'wait for new records and print them')
    .option('-F, --follow-by-name', 'as -f; also wait until the log exists, and continue with a new log in that folder')
    .option(
      '--cursor <name>',
      'print the records after the position of this cursor, and commit each one once it is written; creates the cursor',
    )
  addTimes(command).option('-t, --times', 'print the time and a tab before each record')
  addJson(command).action(run)
}

function checkFlags({ lines, since, until, followByName, cursor }: Flags): void {
  const problem =
    cursor !== undefined && (lines !== undefined || since !== undefined)
      ? '--cursor begins at the position of the cursor: omit --lines and --since'
      : cursor !== undefined && followByName
        ? '--cursor belongs to one log: use -f instead of -F'
        : followByName && until !== undefined
          ? '-F has no end: omit --until'
          : ''
  if (problem !== '') throw new InputError(problem, ExitCode.usage)
}

async function run(dir: string, flags: Flags): Promise<void> {
  checkFlags(flags)
  const { follow, times, json } = flags
  const format = { json: json === true, lengthPrefixed: false, times: times === true }
  const options = { format, follow: follow === true || flags.followByName === true }
  if (flags.followByName) return followByName(dir, options, (log) => firstSeq(log, flags))
  await using log = await open(dir, { readOnly: true })
  if (flags.cursor !== undefined) return await readCursor(log, flags.cursor, flags, options)
  const { since, until } = flags
  await printRecords(log.read({ from: await firstSeq(log, flags), since, until, follow }), options)
}

/** The first record to print. */
async function firstSeq(log: ReadOnlyLog, { lines, since, until }: Flags): Promise<number> {
  const end = until === undefined ? log.nextSeq : await log.seqAt(until)
  const count = lines ?? (since === undefined ? DEFAULT_LINES : end)
  const first = Math.max(log.firstSeq, end - count)
  return since === undefined ? first : Math.max(first, await log.seqAt(since))
}

async function readCursor(
  log: ReadOnlyLog,
  name: string,
  { until, follow }: Flags,
  options: PrintOptions,
): Promise<void> {
  await using cursor = await log.cursor(name)
  const onWritten = (seq: number): Promise<void> => cursor.commit(seq)
  await printRecords(cursor.read({ until, follow }), { ...options, onWritten })
}

const POLL_MS = 250

/** A log, and the seq after its last printed record. */
interface Place {
  uuid: string
  nextSeq: number
}

/** Prints the log in `dir` from `firstSeq` on, and every later log in that folder from its beginning. Never returns. */
async function followByName(
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
