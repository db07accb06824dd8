import { RECORD_MAX_BYTES } from '../../streams/port/encoding.js'
import { checkStreamName } from '../../streams/port/file-name.js'
import type { Stream } from '../../streams/port/types.js'
import { onInterrupt } from '../../terminal/interrupt.js'
import { formatCounted, writeSummary } from '../../terminal/output.js'
import { visible } from '../../terminal/visible.js'
import { InputLines, isBlank, openInput, recordsIn } from '../input.js'
import { parseJsonLine, textOf, timeIn } from '../records.js'
import type { StreamsFlags } from './actions.js'
import { LateFolder } from './late-folder.js'
import { storedJson } from './stored-json.js'

/** The largest number of appends in flight. */
const WINDOW = 256

/** `durlog streams DIR append`. */
export async function appendLines(
  dir: string,
  name: string,
  file: string | undefined,
  { timeField, json }: StreamsFlags,
): Promise<void> {
  checkStreamName(name)
  await using input = await openInput(file)
  await using folder = new LateFolder(dir)
  const found = await folder.found()
  const encoding = (await found?.stream(name).info())?.encoding ?? found?.encoding ?? 'json'
  const splitter = new InputLines(RECORD_MAX_BYTES, { remedy: 'a record of a stream cannot be longer, so split it' })
  let stream: Stream<unknown> | undefined
  const pending: Promise<unknown>[] = []
  let [line, appended] = [0, 0]
  const stored = (): void => void appended++
  const stop = onInterrupt((interrupted) => void input.chunks.destroy(interrupted))
  try {
    for await (const lines of recordsIn(input, splitter)) {
      for (const bytes of lines) {
        line++
        if (isBlank(bytes)) continue
        const place = `line ${line}`
        const value =
          encoding === 'json' ? parseJsonLine(bytes, place) : encoding === 'utf8' ? textOf(bytes, place) : bytes
        const timestamp = timeField === undefined ? undefined : timeIn(value, timeField, place)
        stream ??= (await folder.made()).stream(name)
        const done = stream.append(encoding === 'json' ? storedJson(bytes, value) : value, { timestamp })
        // Ends the input at once. Otherwise the failure would be reported only when further lines arrive.
        done.then(stored, (error) => void input.chunks.destroy(error))
        pending.push(done)
        if (pending.length >= WINDOW) await pending.shift()
      }
    }
    await folder.made()
    await Promise.all(pending)
  } finally {
    stop()
    await Promise.allSettled(pending)
    const summary = `appended ${formatCounted(appended, 'record')} to ${visible(name)}`
    await writeSummary(`${json ? JSON.stringify({ stream: name, appended }) : summary}\n`)
  }
}
