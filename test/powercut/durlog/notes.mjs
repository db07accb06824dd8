// The notes of the workload and of the verifier. Intents are noted before the call:
//
//   i <seq> <id> <length>...   records from <seq> on with ids from <id> on; more than one length is an atomic batch
//   t <seq>                    a truncation that will keep the seqs below <seq>
//   r <seq>                    a trim of the records before <seq>
//
// Promises are noted after the call:
//
//   o <next> <uuid>            opened: the seqs below <next> exist and are synced, all others never come back
//   a <seq> <level>            all seqs up to <seq> have reached <level>
//   T <next>                   the truncation is done
//   R <first>                  the trim is done, <first> is the log's first seq
import { openSync, writeSync } from 'node:fs'

const notes = openSync(process.env.POWERCUT_NOTES, 'a')

/** Writes whole lines in one synchronous write. When it returns, they are ordered among the disk's writes. */
export function note(...lines) {
  writeSync(notes, lines.map((line) => `${line}\n`).join(''))
}
