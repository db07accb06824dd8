export interface Limits {
  standbys?: number
  /** Archivers of the writer's log with another cursor name. */
  archivers?: number
  /** The records that the first writer appends, and each later one. */
  records?: [number, number]
  rotations?: number
  faults?: number
  gates?: boolean
  force?: boolean
  isListed?: boolean
}
export const BROKEN: readonly string[]
export const BROKEN_FORCE: string
export const BROKEN_WHOLE: string
export const DEAD: Limits
export const STARVING: string
export const GATES: Limits
export function explore(
  limits: Limits,
  broken?: string,
): { failure: string | undefined; states: number; takeovers: number }
