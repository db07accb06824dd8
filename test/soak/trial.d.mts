import type { FollowerHistory, WriterHistory } from './judge.mjs'

export interface Trial {
  writer: WriterHistory
  followers: FollowerHistory[]
  problems: string[]
  lives: number
}

export declare function runTrial(options: {
  dir: string
  seconds: number
  kills: number
  seed: number
  followers: { name: string; durableOnly: boolean }[]
  lastRecordsMs: number
}): Promise<Trial>
