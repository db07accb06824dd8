/** All checks of `durlog doctor`, in the order of its report. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DurlogError, isCode } from '../../errors.js'
import { open } from '../../index.js'
import { lastRecord } from '../../ship/voids.js'
import { readCheckpoint } from '../../streams/files/folder-checkpoint.js'
import { isBackup } from '../../support/folder-marks.js'
import { formatCounted, formatSeqs } from '../../terminal/output.js'
import { disksOf, findMount, type Mount } from '../../terminal/storage.js'
import { logFolder } from '../streams/folder.js'
import { judgeClock } from './clock.js'
import { judgeFileSystem, judgeMount } from './file-system.js'
import { describeError, type Finding, fail, guarded, notChecked, ok } from './finding.js'
import { judgeFlush, measureFlush } from './flush.js'
import { judgeDescriptors, judgeFileSize, judgeInodes, judgeSpace, judgeThreads, readLimits } from './limits.js'
import { readClocks, tryCase, tryRename, trySocket } from './operations.js'
import { Scratch } from './scratch.js'
import { judgeAllocation, judgeDirect, judgeLock, judgeMap, tryDirect, tryMapped } from './trial-log.js'
import { judgeWriteCache } from './write-cache.js'

const LOOK = 'look at the system log (dmesg)'
const RIGHTS = "check the folder's owner and mode, and the user that runs this"

export interface Examination {
  /** The absolute path of the folder that the user named. */
  dir: string
  /** The folder in which the checks were made: `dir`, or its nearest parent that exists. */
  tried: string
  findings: Finding[]
}

/**
 * Checks the disk that holds `dir`, or that would hold it. Removes all of its files, and changes no file of a log in
 * `dir`.
 */
export async function examine(dir: string): Promise<Examination> {
  const asked = resolve(dir)
  const tried = nearestFolder(asked)
  const mount = process.platform === 'linux' ? findMount(tried) : undefined
  const newest = await newestRecord(asked)
  const findings = [
    folderFinding(asked, tried),
    ...newest.findings,
    ...mountFindings(mount),
    ...(await triedFindings(tried, mount, newest.ms)),
    await guarded('free space', LOOK, () => judgeSpace(statfsSync(tried))),
    await guarded('inodes', LOOK, () => judgeInodes(statfsSync(tried))),
    judgeDescriptors(readLimits()),
    judgeFileSize(readLimits()),
    judgeThreads(process.env['UV_THREADPOOL_SIZE']),
  ]
  return { dir: asked, tried, findings }
}

function nearestFolder(path: string): string {
  const exists = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return exists || dirname(path) === path ? path : nearestFolder(dirname(path))
}

function folderFinding(asked: string, tried: string): Finding {
  try {
    if (asked !== tried && statSync(asked, { throwIfNoEntry: false }) !== undefined)
      return fail('folder', `${asked} is not a folder: its parent ${tried} is checked`, 'name a folder')
    accessSync(tried, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const isReadOnly = (error as NodeJS.ErrnoException).code === 'EROFS'
    return fail('folder', describeError(error), isReadOnly ? 'mount the file system with rw' : RIGHTS)
  }
  return ok(
    'folder',
    asked === tried ? asked : `${asked} does not exist: its nearest existing parent ${tried} is checked`,
  )
}

/**
 * Returns the time of the newest record of the log in `dir`, or of its streams, and findings if there are such. A
 * backup is one too.
 */
async function newestRecord(asked: string): Promise<{ ms: number | undefined; findings: Finding[] }> {
  const { dir, hasStreams } = logFolder(asked)
  const backup = isBackup(asked) ? 'a backup: ' : ''
  const findings: Finding[] = []
  try {
    if (hasStreams) findings.push(ok('streams', backup + (await countStreams(asked))))
    await using log = await open(dir, { readOnly: true })
    const { firstSeq, nextSeq } = log
    const ms = (await lastRecord(log))?.timestamp
    const reader = hasStreams ? 'durlog streams DIR verify' : 'durlog verify DIR'
    const records =
      ms === undefined
        ? 'it holds no records'
        : `${formatSeqs(firstSeq, nextSeq)}, of which only the last was read: "${reader}" reads every record`
    findings.push(ok('log', hasStreams ? `that of the streams: ${records}` : `${backup}${records}`))
    return { ms, findings }
  } catch (error) {
    const none = error instanceof DurlogError && ['ERR_DURLOG_NOT_FOUND', 'ERR_DURLOG_NOT_A_LOG'].includes(error.code)
    if (!none) findings.push(fail('log', describeError(error), adviceOn(error, hasStreams)))
    return { ms: undefined, findings }
  }
}

async function countStreams(dir: string): Promise<string> {
  try {
    return `${formatCounted((await readCheckpoint(dir)).streams.length, 'stream')} at the last checkpoint`
  } catch (error) {
    if (!isCode(error, 'ERR_DURLOG_NOT_FOUND')) throw error
    return 'no checkpoint yet'
  }
}

function adviceOn(error: unknown, hasStreams: boolean): string {
  const denied = error instanceof DurlogError && ['EACCES', 'EPERM'].includes(error.errnoName ?? '')
  if (!isCode(error, 'ERR_DURLOG_CORRUPT')) return denied ? RIGHTS : LOOK
  return `"durlog verify DIR${hasStreams ? '/log' : ''}" lists what is damaged`
}

function mountFindings(mount: Mount | undefined): Finding[] {
  if (mount !== undefined) return [judgeMount(mount), judgeWriteCache(disksOf(mount))]
  return [notChecked('write cache', 'the system does not report it')]
}

/** Makes the checks that need a file or a log in the folder. */
async function triedFindings(
  tried: string,
  mount: Mount | undefined,
  newestMs: number | undefined,
): Promise<Finding[]> {
  let scratch: Scratch
  try {
    scratch = await Scratch.make(tried)
  } catch (error) {
    return [fail('writing', describeError(error), 'the checks that write files were skipped; see the findings above')]
  }
  try {
    const { folder } = scratch
    return [
      await guarded('flush', LOOK, () => judgeFlush(measureFlush(folder))),
      ...(await logFindings(scratch, mount)),
      await guarded('rename', LOOK, () => tryRename(folder)),
      await guarded('socket', LOOK, () => trySocket(folder)),
      await guarded('case', LOOK, () => tryCase(folder)),
      await guarded('clock', LOOK, () => judgeClock({ ...readClocks(folder), newestMs })),
    ]
  } finally {
    await scratch.remove()
  }
}

async function logFindings(scratch: Scratch, mount: Mount | undefined): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    const direct = await tryDirect(scratch)
    const blockBytes = mount === undefined ? 0 : (disksOf(mount)[0]?.logicalBlockBytes ?? 0)
    if (mount === undefined) findings.push(judgeFileSystem(direct.stats.fileSystem))
    findings.push(judgeDirect(direct.stats, blockBytes), judgeLock(direct.refused))
    const mapped = await tryMapped(scratch)
    findings.push(judgeAllocation(mapped.stats), judgeMap(mapped.stats, mapped.coherent))
  } catch (error) {
    findings.push(fail('writing', describeError(error), 'a log cannot be written here; see the other findings'))
  }
  return findings
}
