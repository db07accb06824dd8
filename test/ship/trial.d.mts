export interface TrialResult {
  records: number
  writers: number
  shippers: number
  retries: number
  maxSilenceMs: number
}
export function runTrial(
  dir: string,
  options: { records: number; kills: number; servers: 1 | 3; atomic: boolean },
): Promise<TrialResult>
