/** `signature`: why the file has no ad hoc signature that fits its bytes. */
export function readMacho(file: Buffer): { exports: string[]; signature: string | undefined }
