export interface Acknowledged {
  stream: string
  seq: number
  value: string
  duplicate: boolean
  begun: number
  ended: number
  by: string
}
export function judge(trial: {
  acknowledged: readonly Acknowledged[]
  final: Map<string, string[]>
  log: Map<number, string>
  replicas: readonly Map<number, string>[]
}): number
