export declare class WriterHistory {
  end: { era: number; end: number } | undefined
  cuts: { ms: number; seq: number }[]
}

export declare class FollowerHistory {
  name: string
  bursts: { ms: number; era: number; end: number }[]
  violations(writer: WriterHistory): string[]
}
