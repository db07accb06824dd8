/**
 * The destination stored something else at the place of a record. The next session reads the destination's last record
 * again, which shows whether that was this record or a record of another process.
 */
export class ShipConflict extends Error {}
