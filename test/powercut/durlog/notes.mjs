// The notes of the workload and of the verifier. Intents, noted before the call:
//
//   i <seq> <id> <length>...   records from <seq> on with ids from <id> on; more than one length is an atomic batch
//   t <seq>                    a truncation that will leave the seqs below <seq>
//   r <seq>                    a trim of what stands before <seq>
//
// and what was promised, noted afterwards:
//
//   o <next> <uuid>            opened: the seqs below <next> are there and synced, all others are gone for good
//   a <seq> <level>            all seqs up to <seq> have reached <level>
//   T <next>                   the truncation is done
//   R <first>                  the trim is done, <first> is the log's first seq
import { openSync, writeSync } from 'node:fs'

const notes = openSync(process.env.POWERCUT_NOTES, 'a')

/** Whole lines, in one synchronous write: when it returns, they have their place among the disk's writes. */
export function note(...lines) {
  writeSync(notes, lines.map((line) => `${line}\n`).join(''))
}
