/** `signature`: the reason why the file has no valid ad hoc signature; undefined if it has one. */
export function readMacho(file: Buffer): { exports: string[]; signature: string | undefined }
