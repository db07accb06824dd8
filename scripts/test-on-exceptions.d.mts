export const FILES: readonly { files: string; reason: string }[]
export const TESTS: readonly { file: string; test: RegExp; reason: string }[]
