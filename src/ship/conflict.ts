/** Something else was stored where a record was to go: nothing is wrong, and asking again at once finds out what it was. */
export class ShipConflict extends Error {}
