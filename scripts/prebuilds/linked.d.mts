export function linkedArchives(target: { format: 'elf' | 'macho' | 'pe' }, report: string): string[]
