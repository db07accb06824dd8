import type { Command } from 'commander'
import { type Frame, frames, inspect } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { InputError } from '../../terminal/input-error.js'
import { Sink } from '../../terminal/output.js'

interface Flags {
  segment?: string
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('dump')
    .summary('print the files frame by frame')
    .description('Print each frame of the segment files with its byte offset, damaged ones too. Takes no lock.')
    .argument('<dir>', "the log's folder")
    .option('--segment <name>', 'only this file')
  addJson(command).action(run)
}

async function run(dir: string, { segment, json }: Flags): Promise<void> {
  const names = (await inspect(dir)).segments.map(({ name }) => name)
  if (segment !== undefined && !names.includes(segment))
    throw new InputError(`there is no segment ${segment}; there are ${names.join(', ')}`)
  const sink = new Sink()
  const put = async (line: string): Promise<void> => {
    const bytes = Buffer.from(line)
    if (sink.put(bytes)) return
    await sink.flush()
    sink.put(bytes)
  }
  for (const name of segment === undefined ? names : [segment]) {
    if (!json) await put(`${name}\n${HEADING}`)
    for await (const frame of frames(dir, name)) {
      await put(json ? `${JSON.stringify({ segment: name, ...frame })}\n` : describe(frame))
    }
  }
  await sink.flush()
}

const HEADING = '      offset      bytes  kind                     seq     length   unsynced  time\n'

function describe(frame: Frame): string {
  const { offset, bytes, kind, seq, length, unsynced, timestampMs, batchContinues, problem } = frame
  const place = `${String(offset).padStart(12)} ${String(bytes).padStart(10)}  ${kind.padEnd(8)}`
  if (kind === 'free' || kind === 'padding') return `${place}\n`
  if (kind === 'damaged') return `${place} ${problem}\n`
  const numbers = ` ${String(seq).padStart(19)} ${String(length).padStart(10)} ${String(unsynced).padStart(10)}`
  const batch = batchContinues ? '  batch continues' : ''
  return `${place}${numbers}  ${new Date(timestampMs).toISOString()}${batch}\n`
}
