export interface TrialValue {
  n: number
  batch?: [first: number, count: number]
  filler: string
}
export declare function trialValue(n: number, batch?: [first: number, count: number]): TrialValue
export declare function ledgerValue(q: number): { q: number; filler: string }
export declare const RETAINED: Record<string, { maxRecords?: number; maxBytes?: number; maxAgeMs?: number }>
