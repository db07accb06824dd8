/** The load of other programs and of the host, which makes measurements invalid. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Shares from 0 to 1. */
export interface OtherLoad {
  /** The part of the processors' time that other programs used. */
  processors: number
  /** The part of the time in which some program waited for a processor, or for the disk. */
  waitedForProcessor: number
  waitedForDisk: number
  /** The part of the processors' time that the host of this virtual machine gave to others. */
  stolen: number
}

/** How long the bench does nothing to see what others do. */
const LOOK_MS = 500
const LIMITS: readonly [keyof OtherLoad, number, (percent: string) => string][] = [
  ['processors', 0.2, (percent) => `other programs use ${percent} of the processors`],
  ['waitedForProcessor', 0.2, (percent) => `programs wait for a processor ${percent} of the time`],
  ['waitedForDisk', 0.1, (percent) => `programs wait for a disk ${percent} of the time`],
  ['stolen', 0.03, (percent) => `the host takes ${percent} of the processors`],
]

interface Counters {
  atMs: number
  busy: number
  total: number
  stolen: number
  waitedForProcessorUs: number
  waitedForDiskUs: number
}

/** The microseconds in the line "some" of a file of /proc/pressure; 0 if the kernel does not measure them. */
function pressure(name: 'cpu' | 'io'): number {
  try {
    return Number(/^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${name}`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Returns undefined on systems without /proc/stat. */
function readCounters(): Counters | undefined {
  try {
    const line = /^cpu +(.*)/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? ''
    const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0, stolen = 0] = line
      .split(' ')
      .map(Number)
    const busy = user + nice + system + hard + soft
    return {
      atMs: performance.now(),
      busy,
      total: busy + idle + waiting + stolen,
      stolen,
      waitedForProcessorUs: pressure('cpu'),
      waitedForDiskUs: pressure('io'),
    }
  } catch {
    return undefined
  }
}

/** Does nothing for half a second and returns the load in this time; undefined if the system does not report it. */
export async function lookAtOtherLoad(): Promise<OtherLoad | undefined> {
  const before = readCounters()
  await sleep(LOOK_MS)
  const after = readCounters()
  if (before === undefined || after === undefined) return undefined
  const ticks = Math.max(1, after.total - before.total)
  const us = (after.atMs - before.atMs) * 1000
  return {
    processors: (after.busy - before.busy) / ticks,
    waitedForProcessor: (after.waitedForProcessorUs - before.waitedForProcessorUs) / us,
    waitedForDisk: (after.waitedForDiskUs - before.waitedForDiskUs) / us,
    stolen: (after.stolen - before.stolen) / ticks,
  }
}

/** Returns a sentence part for each load that makes figures invalid; none if the machine is idle. */
export function disturbances(load: OtherLoad): string[] {
  return LIMITS.flatMap(([name, limit, told]) =>
    load[name] > limit ? [told(`${Math.round(load[name] * 100)} %`)] : [],
  )
}
