export function cacheFolder(...names: string[]): string
