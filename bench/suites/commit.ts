/** Commits of different sizes by concurrent appenders, with and without preallocation: the table of OkayWAL. */
import { join } from 'node:path'
import type { Preallocation } from 'durlog'
import { open } from 'durlog'
import { appendersContender, Field } from '../harness/contenders.js'
import { OkayWal } from '../harness/okaywal.js'
import { peers } from '../harness/peers.js'
import { takeTurns } from '../harness/rounds.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { formatSize } from '../report/format.js'

const MIB = 2 ** 20
const QUICK = { sizes: [256, 4096], appenders: [1, 4, 16], rounds: 3, sliceMs: 60 }
const FULL = { sizes: [256, 1024, 4096, MIB], appenders: [1, 2, 4, 8, 16], rounds: 5, sliceMs: 250 }

const OWN: readonly { label: string; preallocate: Preallocation }[] = [
  { label: 'durlog', preallocate: 'auto' },
  { label: 'durlog, no preallocation', preallocate: 'none' },
]
/** A simple solution that uses only Node. */
const OTHER = peers.find(({ name }) => name === 'group commit in JS')

async function addContenders(field: Field, folder: string, bytes: number, extent: typeof FULL): Promise<void> {
  const payload = makePayload(bytes)
  const addAll = (label: string, append: () => Promise<unknown>, tidy?: () => Promise<unknown>): void => {
    for (const appenders of extent.appenders) {
      const contender = appendersContender(append, bytes, appenders, extent.sliceMs)
      field.add({ labels: [label, String(appenders)] }, { ...contender, tidy })
    }
  }
  for (const [i, { label, preallocate }] of OWN.entries()) {
    const log = await open(join(folder, `log-${i}`), { preallocate, durability: 'sync' })
    field.whenDone(() => log.close())
    addAll(
      label,
      () => log.append(payload),
      () => log.trimBefore(log.nextSeq),
    )
  }
  if (OTHER) {
    const log = await OTHER.open(folder, true)
    field.whenDone(() => log.close())
    addAll(OTHER.name, () => log.append(payload))
  }
  if (OkayWal.isInstalled) {
    const log = new OkayWal(join(folder, 'okaywal'), bytes)
    field.whenDone(() => log.close())
    for (const appenders of extent.appenders) {
      const batch = () => log.commit(appenders, extent.sliceMs)
      field.add({ labels: ['OkayWAL 0.3.1 (Rust)', String(appenders)] }, { bytesPerOperation: bytes, batch })
    }
  }
  for (const file of ['zero', 'none'] as const) {
    const method = file === 'zero' ? 'direct-dsync' : 'pwrite-fdatasync'
    const label = file === 'zero' ? 'C++ O_DIRECT+O_DSYNC, zero' : 'C++ pwrite+fdatasync, no preallocation'
    const spec = {
      path: join(folder, method),
      method,
      preallocate: file,
      recordBytes: bytes,
      fileBytes: 64 * MIB,
    } as const
    await field.addRaw([label, '1'], spec, bytes >= MIB ? 4 : 16)
  }
}

async function run(context: SuiteContext): Promise<string[]> {
  const extent = context.quick ? QUICK : FULL
  const logs = OWN.length + 1 + Number(OkayWal.isInstalled)
  const contenders = logs * extent.appenders.length + 2
  await context.plan('commit', contenders * (extent.rounds + 1) * extent.sizes.length)
  for (const bytes of extent.sizes) {
    await withScratch(context.dir, async (folder) => {
      const field = new Field()
      try {
        await addContenders(field, folder, bytes, extent)
        const summaries = await takeTurns(field.contenders, { ...extent, onTurn: context.step })
        for (const [row, summary] of summaries) row.summary = summary
        const floor = field.rows.find(({ baseline }) => baseline === true)?.summary
        for (const row of field.rows) {
          if (row.summary && floor) row.ratio = row.summary.opsPerSecond / floor.opsPerSecond
        }
      } finally {
        await field.close()
      }
      await context.add({
        title: `commits of ${formatSize(bytes)}`,
        durability: 'sync: on the device',
        labels: ['log', 'appenders'],
        figures: [
          'mean',
          'min',
          'max',
          'stddev',
          'outlierShare',
          'p50',
          'p90',
          'p99',
          'p999',
          'opsPerSecond',
          'megabytesPerSecond',
        ],
        ratioTo: "C++ O_DIRECT+O_DSYNC's ops/s by one appender",
        chart: 'throughput',
        rows: field.rows,
      })
    })
  }
  return []
}

export const commit: Suite = {
  name: 'commit',
  title: 'Commits by concurrent appenders',
  summary: '256 B to 1 MiB by 1 to 16 appenders, with and without preallocation',
  run,
}
