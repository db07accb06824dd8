import type { Command } from 'commander'
import { inspect } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import {
  formatBytes,
  formatCounted,
  formatFields,
  formatRange,
  formatTable,
  writeJson,
  writeOut,
} from '../../terminal/output.js'

export function register(program: Command): void {
  const command = program
    .command('stat')
    .summary('tell what a log holds')
    .description('Tell which records a log holds and in which segments. Reads the last segment only; takes no lock.')
    .argument('<dir>', "the log's folder")
  addJson(command).action(run)
}

async function run(dir: string, { json }: { json?: boolean }): Promise<void> {
  const summary = await inspect(dir)
  if (json) return writeJson(summary)
  const { uuid, firstSeq, nextSeq, syncedSeq, segments } = summary
  const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0)
  const allocatedBytes = segments.reduce((sum, segment) => sum + segment.allocatedBytes, 0)
  await writeOut(
    formatFields([
      ['log', dir],
      ['uuid', uuid],
      ['records', formatRange(firstSeq, nextSeq)],
      ['next seq', nextSeq],
      ['synced up to', syncedSeq === -1 ? 'none known' : syncedSeq],
      [
        'size',
        `${formatBytes(bytes)} in ${formatCounted(segments.length, 'segment')}, ${formatBytes(allocatedBytes)} on the device`,
      ],
    ]),
  )
  const rows = segments.map(({ name, firstSeq, bytes, allocatedBytes }) => [
    name,
    String(firstSeq),
    formatBytes(bytes),
    formatBytes(allocatedBytes),
  ])
  await writeOut(formatTable(['segment', 'first seq', 'size', 'on the device'], rows))
}
