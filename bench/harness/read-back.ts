/** The judgement on records that were read back: which party is at fault if they are not those that were appended. */

import { keepScratch } from './scratch.js'

export interface ReadBack {
  /** The appends that the bench planned. */
  planned: number
  /** The appends that the method has acknowledged. */
  acknowledged: number
  /** The whole records that were found. */
  records: number
  /** The places in which something else was found. */
  damaged: number
}

function fault(text: string): Error {
  return Object.assign(new Error(text), { code: 'READ_BACK' })
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`
}

/**
 * Throws unless every append was acknowledged and every acknowledged record was found: the figures of a method that
 * loses records must not be compared with those of another. `scratch` is the folder of durlog's files, which is kept if
 * the log is at fault; undefined for raw methods.
 */
export function requireWhole(
  method: string,
  { planned, acknowledged, records, damaged }: ReadBack,
  scratch?: string,
): void {
  if (acknowledged !== planned)
    throw fault(
      `${method}: the bench is at fault: it planned ${count(planned, 'append')} and made ${count(acknowledged, 'append')}. No figure of this row is valid; please report this`,
    )
  if (records === planned && damaged === 0) return
  const found = `${count(records, 'whole record')} and ${count(damaged, 'damaged one')} were read back of ${count(planned, 'acknowledged append')}`
  if (scratch === undefined)
    throw fault(
      `${method}: the raw method is at fault: ${found}. The file system does not keep the appends of several processes apart, so its figures cannot be compared; measure another disk with --dir`,
    )
  keepScratch(scratch)
  throw fault(
    `${method}: the log is at fault: ${found}. This is a bug of durlog, or of the disk. The files were kept in ${scratch}: please report this with the output of "durlog verify" for them`,
  )
}
