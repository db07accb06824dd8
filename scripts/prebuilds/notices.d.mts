export function noticesOf(
  linked: readonly { target: string; archives: readonly string[] }[],
  licenseOf: (library: { name: string }) => string,
): string
