export interface TrialDigest {
  records: number
  sha256: string
}
export function runTrial(
  dir: string,
  options: {
    records: number
    kills: number
    store: 'fake' | 'versitygw' | 'seaweedfs'
    random?: () => number
  },
): Promise<{
  killed: { writer: number; archiver: number; store: number }
  expected: TrialDigest
  found: TrialDigest
  restoreMs: number
  overwritten: string[]
}>
