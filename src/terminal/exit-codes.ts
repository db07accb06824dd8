/** The exit status of the command; scripts rely on these numbers. */

export const ExitCode = {
  ok: 0,
  /** verify, repair: a torn tail or a hole, nothing that was acknowledged at sync. */
  torn: 1,
  /** doctor: a WARN, and no FAIL. */
  doubtful: 1,
  /** Damage to records that are known to be synced. */
  corrupt: 2,
  /** doctor: a FAIL. */
  unfit: 2,
  usage: 64,
  badInput: 65,
  noLog: 66,
  /** ship, archive, restore: the destination stored nothing for longer than --retry-for. */
  unreachable: 69,
  noSpace: 73,
  io: 74,
  locked: 75,
  /** ship, archive, restore: log and destination hold different records, or records between them are missing. */
  otherRecords: 76,
  /** ship, archive, restore: the destination refuses, and would refuse again. */
  refused: 77,
} as const

export const EXIT_CODES_HELP: string = `
Exit status:
   0  done; also if the reader of the output stops early
   1  verify, repair: torn tail or hole; doctor: WARN
   2  synced records are damaged; doctor: FAIL
  64  wrong usage
  65  bad input
  66  there is no log (or stream, or bucket) of that name
  69  the destination is unreachable
  73  no space
  74  input or output failed
  75  another writer has the log open
  76  the destination holds other records
  77  the destination refuses
 130  ended by Ctrl-C or another signal before the work was done`

export const EXIT_CODES_HINT: string = `
Exit status: 0 done; "durlog --help" lists all others.`
