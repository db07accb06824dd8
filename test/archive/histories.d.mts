export function runRound(
  dir: string,
  seed: number,
): Promise<{ truncations: number; histories: number; retries: number; hasGap: boolean }>
