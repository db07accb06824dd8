/** Another message was stored at the place of a record. This is no failure: asking for the last record again shows which one it was. */
export class ShipConflict extends Error {}
