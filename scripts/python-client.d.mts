export function pythonWithClient(): string | undefined
