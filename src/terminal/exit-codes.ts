/** The exit statuses of the command. Scripts rely on these numbers. */

export const ExitCode = {
  ok: 0,
  /** verify, repair: a torn tail or a hole. No record that was acknowledged at sync is damaged. */
  torn: 1,
  /** doctor: at least one WARN, and no FAIL. ship --status, archive --status: not healthy. */
  doubtful: 1,
  /** Records that are known to be synced are damaged. */
  corrupt: 2,
  /** doctor: at least one FAIL. */
  unfit: 2,
  usage: 64,
  badInput: 65,
  noLog: 66,
  /** ship, archive, restore: every attempt has failed for longer than --retry-for. */
  unreachable: 69,
  noSpace: 73,
  io: 74,
  locked: 75,
  /**
   * ship, archive, restore: the log and the destination hold different records, or records between the two are missing.
   */
  otherRecords: 76,
  /** ship, archive, restore: the destination refused a request, and would refuse it again. */
  refused: 77,
} as const

export const EXIT_CODES_HELP: string = `
Exit status:
   0  success; also if the reader of the output stops early
   1  verify, repair: torn tail or hole; doctor: WARN;
      ship, archive --status: not healthy
   2  synced records are damaged; doctor: FAIL
  64  wrong usage
  65  invalid input
  66  there is no log (or stream, or bucket) of that name
  69  the destination is unreachable
  73  no space
  74  input or output failed, or an optional package is missing
  75  another writer has the log open
  76  the destination holds other records
  77  the destination refused a request
 130  ended by Ctrl-C or another signal before the work was complete`

export const EXIT_CODES_HINT: string = `
Exit status: 0 is success; "durlog --help" lists the others.`
