import type { Command } from 'commander'
import { type Frame, frames, inspect } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { InputError } from '../../terminal/input-error.js'
import { formatTime, OutputSink } from '../../terminal/output.js'

interface Flags {
  segment?: string
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Print each frame of the segment files with its byte offset, including damaged frames. A "+" marks a batch that continues in the next frame. Takes no lock.',
    )
    .argument('<dir>', 'the folder of the log')
    .option('--segment <name>', 'print only this file')
  addJson(command).action(run)
}

async function run(dir: string, { segment, json }: Flags): Promise<void> {
  const names = (await inspect(dir)).segments.map(({ name }) => name)
  if (segment !== undefined && !names.includes(segment))
    throw new InputError(`there is no segment ${segment}; there are ${names.join(', ')}`)
  const sink = new OutputSink()
  const put = async (line: string): Promise<void> => {
    const bytes = Buffer.from(line)
    if (!sink.put(bytes)) await sink.write(bytes)
  }
  for (const name of segment === undefined ? names : [segment]) {
    if (!json) await put(`${name}\n${HEADING}`)
    for await (const frame of frames(dir, name)) {
      await put(json ? `${JSON.stringify({ segment: name, ...frame })}\n` : describe(frame))
    }
  }
  await sink.flush()
}

const HEADING = '    offset      bytes kind             seq     length time\n'

/** Formats a frame in at most 80 columns, for seqs of up to 12 digits. */
function describe(frame: Frame): string {
  const { offset, bytes, kind, seq, length, timestamp, batchContinues, problem } = frame
  const name = batchContinues ? `${kind}+` : kind
  const place = `${String(offset).padStart(10)} ${String(bytes).padStart(10)} ${name.padEnd(7)}`
  if (kind === 'free' || kind === 'padding') return `${place}\n`
  if (kind === 'damaged') return `${place} ${problem}\n`
  return `${place} ${String(seq).padStart(12)} ${String(length).padStart(10)} ${formatTime(timestamp)}\n`
}
