/** The exit status of the command; scripts rely on these numbers. */

export const ExitCode = {
  ok: 0,
  /** verify, repair: a torn tail or a hole, nothing that was acknowledged at sync. */
  torn: 1,
  /** doctor: a WARN, and no FAIL. */
  doubtful: 1,
  /** Damage of records known to be synced. */
  corrupt: 2,
  /** doctor: a FAIL. */
  unfit: 2,
  usage: 64,
  badInput: 65,
  noLog: 66,
  /** ship, restore: nothing was stored by the other side for as long as was allowed. */
  unreachable: 69,
  noSpace: 73,
  io: 74,
  locked: 75,
  /** ship, restore: log and destination hold different records, or records are missing in between. */
  otherRecords: 76,
  /** ship, restore: the other side refuses for good. */
  refused: 77,
} as const

export const EXIT_CODES_HELP: string = `
Exit status: 0 done; 1 torn tail or hole (verify, repair), WARN (doctor); 2 corrupt, FAIL (doctor);
64 wrong usage; 65 bad input; 66 no log (or stream) there; 69 destination unreachable; 73 no space; 74 input or
output failed; 75 locked by another writer; 76 the destination holds other records; 77 the destination refuses.
It is the same where nobody reads the output to its end.`
