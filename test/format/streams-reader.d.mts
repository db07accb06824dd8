/** See the .mjs: the types by which TypeScript tests use it. */
export interface FoundStream {
  options: { encoding: string; contentType?: string; ttlMs?: number; expiresAtMs?: number }
  ended: boolean
  records: { seq: number; value: unknown; timestamp: number; position: number }[]
}
export function fileNameOf(stream: string): string
export function readStreams(dir: string): Map<string, FoundStream>
