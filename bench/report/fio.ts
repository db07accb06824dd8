/** The command lines of fio that write in the same way as a row, for people who compare with figures of fio. */
import type { BaselineFile, BaselineMethod, RandomWriteSpec } from '../harness/baselines.js'

const MIB = 2 ** 20
const BLOCK_BYTES = 4096

/** The options of each method; undefined if fio cannot write in this way. */
const METHODS: Record<BaselineMethod, string | undefined> = {
  'direct-dsync': '--ioengine=psync --direct=1 --sync=dsync',
  'direct-dsync-handed': '--ioengine=psync --direct=1 --sync=dsync',
  direct: '--ioengine=psync --direct=1',
  pwrite: '--ioengine=psync',
  'pwrite-range': '--ioengine=psync --sync_file_range=write:1',
  'pwrite-fdatasync': '--ioengine=psync --fdatasync=1',
  'pwrite-fsync': '--ioengine=psync --fsync=1',
  mmap: '--ioengine=mmap',
  'mmap-populated': '--ioengine=mmap',
  'mmap-msync': '--ioengine=mmap --fsync=1',
  'mmap-msync-async': undefined,
  'write-append': '--ioengine=sync --file_append=1',
  'writev-append': '--ioengine=vsync --file_append=1',
  'stdio-flush': '--ioengine=sync --file_append=1',
  stdio: undefined,
  'aio-append': '--ioengine=libaio --iodepth=32 --file_append=1',
  'direct-append': '--ioengine=sync --direct=1 --file_append=1',
}

/** How fio allocates the file; the other ways are not options of fio. */
const FILES: Partial<Record<BaselineFile, string>> = {
  none: '--fallocate=none',
  sparse: '--fallocate=truncate',
  fallocate: '--fallocate=native',
  'keep-size': '--fallocate=keep',
  zero: '--overwrite=1',
  data: '--overwrite=1',
}

export interface FioJob {
  method: BaselineMethod
  preallocate: BaselineFile
  recordBytes: number
  fileBytes?: number
  processes?: number
  /** Records between two syncs, as in BaselineSpec; 0: one sync at the end. */
  syncEvery?: number
}

/** Returns undefined if fio has no options for this way of writing. */
export function fioOf({
  method,
  preallocate,
  recordBytes,
  fileBytes = 64 * MIB,
  processes = 1,
  syncEvery = 1,
}: FioJob): string | undefined {
  const options = METHODS[method]
  const allocation = FILES[preallocate]
  if (options === undefined || allocation === undefined) return undefined
  const block = options.includes('--direct=1') ? Math.ceil(recordBytes / BLOCK_BYTES) * BLOCK_BYTES : recordBytes
  const synced = syncEvery === 0 ? options.replace(/--f(data)?sync=1/, '--end_fsync=1') : options
  const jobs = processes === 1 ? '' : ` --numjobs=${processes} --group_reporting`
  return `fio --name=${method} --filename=fio.tmp --rw=write --bs=${block} --size=${fileBytes} ${synced} ${allocation}${jobs} --runtime=5 --unlink=1`
}

export function fioOfRandom({
  preallocate,
  engine,
  depth,
  fileBytes,
}: Pick<RandomWriteSpec, 'preallocate' | 'engine' | 'depth' | 'fileBytes'>): string {
  const ways =
    engine === 'io_uring'
      ? `--ioengine=io_uring --iodepth=${depth}`
      : `--ioengine=psync --numjobs=${depth} --group_reporting`
  return `fio --name=random --filename=fio.tmp --rw=randwrite --bs=${BLOCK_BYTES} --size=${fileBytes} ${ways} --direct=1 ${FILES[preallocate]} --runtime=5 --unlink=1`
}
