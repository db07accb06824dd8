/** Turns the log of a former writer into a replica of the writer that has taken over in a stream. */
import { DurlogError } from '../errors.js'
import type { Log, LogRecord } from '../index.js'
import { resolveDir } from '../options/call-options.js'
import { readLockedCopy } from '../ship/copy.js'
import { firstOther, type RejoinReport, rejoinLog } from '../ship/rejoin.js'
import { holdsStreams, rejoinStreams } from '../ship/rejoin-streams.js'
import { ofFileSystem } from '../support/file-system-error.js'
import { refuseStreams } from '../support/streams-log.js'
import { AckTimeout } from './ack-timeout.js'
import { Assembler } from './assembler.js'
import { consume } from './consume.js'
import { holdsLastOf, isOwn } from './is-own.js'
import { endOf } from './message.js'
import { type LiveLink, type NatsLink, withLink } from './nats-link.js'
import {
  MARK_CHECKS,
  nothingThere,
  type ResolvedStreamRejoin,
  resolveRejoin,
  type StreamRestoreMark,
} from './restore-options.js'
import { findStream } from './stream.js'
import { StreamSeqs } from './stream-seqs.js'
import type { RejoinOptions } from './types.js'

/**
 * Makes the log of a former writer a replica: copies its records that the stream does not have to the folder `into`, a
 * log with the same seqs and times, then removes them. A folder of streams is moved to `into` as a whole. `restore`
 * with `follow`, or `takeOver`, continues the replica. If it was interrupted, run it again with the same folders.
 * Rejects with ERR_DURLOG_NOT_FOUND if no other copy has taken over, with ERR_DURLOG_NOT_EMPTY if `into` holds
 * anything else, with ERR_DURLOG_LOCKED while a writer has the log open, or as `restore` and `open` do.
 */
export async function rejoin(dir: string | URL, options: RejoinOptions): Promise<RejoinReport> {
  const folder = resolveDir(dir)
  const resolved = resolveRejoin(options)
  try {
    if (holdsStreams(folder, resolved.into))
      return await rejoinStreams(folder, resolved.into, MARK_CHECKS, async (log) => (await markOf(log, resolved)).cutTo)
    refuseStreams(folder)
    return await rejoinLog(folder, resolved.into, MARK_CHECKS, (log) => markOf(log, resolved))
  } catch (error) {
    throw ofFileSystem(error, folder)
  }
}

/** The mark of a replica of the stream, which `log` is once its records from `cutTo` on are removed. */
async function markOf(log: Log, options: ResolvedStreamRejoin): Promise<StreamRestoreMark & { cutTo: number }> {
  const { subject, cutTo } = await withLink(options, (live, link) => commonEnd(log, live, link, options))
  return { stream: options.stream, subject, uuid: log.uuid, first: log.firstSeq, cutTo }
}

/**
 * The seq before which the log and the stream have the same records. All of them are compared: two writers may have
 * stored the same record after different ones.
 */
async function commonEnd(
  log: Log,
  live: LiveLink,
  link: NatsLink,
  options: ResolvedStreamRejoin,
): Promise<{ subject: string; cutTo: number }> {
  const { stream } = options
  const { subject } = await findStream(live, options, { use: 'restore' })
  const seqs = new StreamSeqs(live, stream, subject)
  const last = await seqs.last()
  if (last === undefined) throw nothingThere(stream, subject)
  const { uuid } = last.part
  if (uuid !== log.uuid)
    throw new DurlogError(
      'ERR_DURLOG_DESTINATION_OTHER',
      `the subject ${subject} holds the log ${uuid}, not ${log.uuid}`,
    )
  if (await isOwn(log, (await readLockedCopy(log.dir)).id, last)) throw notReplaced(log.dir, stream)
  const end = Math.min(endOf(last.part), log.nextSeq)
  const found = await seqs.find(log.firstSeq, last)
  if (found === undefined || end <= log.firstSeq) return { subject, cutTo: end }
  // Of a stream that drops its oldest messages, the log may hold more.
  const begin = await seqs.readableFrom(found, last)
  const knowsPrevious = begin !== found && found.part.seq < end
  if (knowsPrevious && !(await holdsLastOf(log, found))) throw droppedTooFar(log, found.part.seq)
  if (begin === undefined) return { subject, cutTo: end }
  const from = Math.max(log.firstSeq, begin.part.voidFrom)
  const inStream = recordsOf(link, live, { options, subject, sequence: begin.sequence, uuid, from, end })
  const other = await firstOther(log.read({ from, to: end }), inStream)
  if (other === from && from > log.firstSeq && !knowsPrevious) throw droppedTooFar(log, from)
  return { subject, cutTo: Math.min(end, other) }
}

interface SharedRange {
  options: ResolvedStreamRejoin
  subject: string
  /** The sequence of the first message. */
  sequence: number
  uuid: string
  from: number
  /** The seq before which the records end. */
  end: number
}

async function* recordsOf(
  link: NatsLink,
  live: LiveLink,
  { options, subject, sequence, uuid, from, end }: SharedRange,
): AsyncGenerator<LogRecord> {
  const { stream, access, timeoutMs } = options
  // The caller ends the messages after the last record.
  const range = { stream, subject, domain: access.domain, sequence, expectsMore: () => true }
  const messages = await consume(live, range, new AckTimeout(timeoutMs))
  const forget = link.onLost((error) => messages.stop(error))
  try {
    const assembler = new Assembler(uuid, from)
    for await (const message of messages) {
      for (const { seq, data, timestamp } of assembler.add(message.headers, message.data, message.seq)) {
        if (seq >= end) return
        yield { seq, timestamp, data: Buffer.from(data.buffer, data.byteOffset, data.length) }
      }
      if (assembler.next >= end) return
    }
    throw new Error('the stream ended')
  } finally {
    forget()
    await messages.close().catch(() => {})
  }
}

function notReplaced(dir: string, stream: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `no other copy of the log in ${dir} has taken over in the stream ${stream}: the log can be written here`,
    { path: dir },
  )
}

function droppedTooFar({ dir }: Log, first: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `the stream has dropped the records before ${first}, and its record ${first} differs from the log's: keep the folder ${dir}, and restore the stream into a new one`,
    { path: dir },
  )
}
