// For docs/BENCHMARKS.md: where the time of a missed target goes, what was tried, and the limit. Each is included only if
// its target was missed in the run. Measured by hand on an idle machine: time stamps in a copy of the code, perf, and
// models in C++.

const limits = [
  {
    ids: /^append-1-/,
    text: `**One at a time.** Of 64 us for 256 B: 2 from the call to the end of the turn, in which others may join the group; 5 to
make the commit and wake a libuv worker; 5 until it runs; 46 in the write; 5.5 until the event loop's thread is notified; 3
until the promise has settled. The floor is the same write in a loop of its own, 40 to 46. The two switches between threads
take 6 us in C++ with a semaphore and an eventfd; libuv, Node-API and promises take the rest. Tried: io_uring from the event
loop's thread, its completion in epoll: 3 us less than a worker, but 7 us of the event loop's own time for each
submission, and a second write path to maintain; a worker that spins until the next commit: 10 to 15 %
less, for a core that is never idle; a worker that stays with the log and waits on a condition variable for the next commit,
told of by a thread-safe function: 1.01x of the time with a work item for each commit (70 pairs of processes, loaded machine),
as making the item is 0.5 us; the same worker woken when the turn begins that will make the next commit: 0.96x to 0.98x one at a
time, 1.07x with 128 in flight. On a loaded machine the event loop's part from the completion to the next work item is 5 us, and
waking the worker, an interrupt to the other processor, 9. The row "on a second thread" is the same write in C++ handed to a
thread that waits: 1.05x to 1.77x of the floor, by whether the scheduler puts both threads on one processor.
\`appendSync\`, which switches no thread, is the figure for callers that can block.`,
  },
  {
    ids: /^write-(128|sustained)/,
    text: `**\`write\` of 128 B.** Of 124 ns (second percentile of bursts of 500): 38 for a call into native code that takes
its arguments, 33 to find a Uint8Array's bytes, 6 for the counters, 18 for header and checksum, 30 for stores to memory
that no cache holds; an empty call is 24. So 80 ns leaves nothing for the record. In a long run the worker that populates
pages ahead shares the memory bandwidth, which the median shows. Tried and kept: the whole path in one translation unit (148
to 128), no number as the result (157 to 148), no readahead in the map, whose folios of 2 MiB made each populated page cost 5 to
12 us instead of 0.4 (290 to 112 in a new log). Tried and not kept: a shared array that JS copies into, as \`set\` takes the
30 ns that the lookup saves.`,
  },
  {
    ids: /^(several-(processes|threads)|shared-write)/,
    text: `**Several writers.** A frame costs a member what it costs an exclusive writer, and a compare-and-swap on a word that
another processor has stored last; and every member walks over the frames of all. Each page is populated without zeros
written first, as others may be storing there: 1.5 us instead of 0.8. Tried and kept: one walk for both points, no struct
that is stored in pieces and loaded whole, no clock, a moment of spinning before a yield (0.8x of the time at 1 B and 128 B); the
pages of a sealed segment given back before it is synced (350 to 165 ns for one writer, 0.8x for four). Tried and not kept: frames
fetched ahead of the walk, windows of 256 KiB to 16 MiB populated instead of 4 (1.6x to 1.0x), raising the readers' end
by a compare-and-swap without a load: no difference; spares filled with zeros: 0.95x, and 64 MiB for the next open to read.`,
  },
  {
    ids: /^(several-sync|shared-many|shared-single)$/,
    text: `**Several writers at \`sync\`.** A shared log is synced by msync, which handles each page on its own: 330 us for 42 pages
where one direct write takes 300. An exclusive log's records are copied to where no page is made; here each page is brought into the
cache (a tenth of the processors' time with four writers) and faulted in by each member that stores to it. Of four processes
on two processors each waits for its turn 100 to 200 us after a sync has ended. Tried and kept, of the rate: pages without readahead's
folios, 1.3x; a second sync that waits behind the first, 1.2x; 64 KiB of pages made at a time, 1.25x; pages unmapped before they
are synced, 1.1x; groups of 64 KiB instead of 128, 1.1x; pages of others not populated, 1.35x with four writers. Tried and not
kept: groups of 32 KiB and spares filled with zeros, no difference.`,
  },
  {
    ids: /^write-4095/,
    text: `**\`write\` of 4095 B.** The kernel makes pages of a file at 2.6 to 3.4 GB/s on one core, 1.2 to 1.6 us for each
4 KiB, and the flusher writes them back meanwhile: on two cores the appending thread waits for its pages. Pages that the
virtual machine has never used cost 6 us at the first touch. Tried: MADV_POPULATE_WRITE on fallocated blocks
(0.5 to 2.7 GB/s), zeros written first in 256 KiB steps (3.4 GB/s: kept), one chunk after the other instead of four at a
time (5 to 14 % less system time: kept).`,
  },
  {
    ids: /^sync-(128|1024)$/,
    text: `**Many in flight.** With 1,024 in flight the event loop's thread is the limit: while the device takes one group, the next
is framed. Tried: two commits out at once, each beginning at a block of its own: 0.98x to 1.00x of the time for each record with 128
in flight, where the second finds little to take, 1.09x to 1.12x with 1,024, as each commit costs two switches between threads.`,
  },
  {
    ids: /^commit-1mib(-2)?$/,
    text: `**1 MiB, one at a time.** Copy and checksum (100 us from the cache, up to 280 from memory) and the device take
turns; two in flight overlap them. The floor writes to written extents, durlog to a new, fallocated segment: 690 us
instead of 450. On recycled segments it is 1,470 MB/s instead of 1,050. Tried: zero-filled segments, 740 MB/s, as zeros cost
the device as much as records; zeros written ahead of large records, 1.3x of the time;
copy and checksum in steps of 16 KiB, 79 us instead of 101, which is 2 % of a commit; a commit in four pieces of 256 KiB, so that
the first are written while the next are copied: it hides at most 50 us of copying, and takes 230 to 250 us more on zeros (380 to
430 more on a fallocated file) where each piece waits for the device, 130 to 150 more with one fdatasync after the last;
io_uring, 2 % more than a worker; two commits of 1 MiB out at once, 1.02x of the time.`,
  },
  {
    ids: /^versus-best/,
    text: `**Against the best npm peer.** sonic-boom, behind a group commit in JS written for this bench, has no frames, checksums or
seqs: its remaining cost is a promise for each record, as with durlog. Of durlog's 600 to 900 ns of CPU for each record, about 100
are the call, 60 frame and checksum, 80 the kernel, and the rest promises, their callbacks and the garbage
collector. Tried: waiting promises in blocks that die young instead of one ring: half the speed, as a dead block that has
grown old keeps its successors alive; one promise for 64 appends, each with its \`then\`: no faster with 1,024 in flight, slower
with 8,192.`,
  },
  {
    ids: /^open-killed/,
    text: `**Opening after kill -9.** Of 37 ms with 16 MiB that were not synced, on a busy machine: 12 for the sync that writes
them, 3 to drop the cache, 16 to read them back from the device, which is how recovery knows that the device has them, 2.5 to
find the zeros that only the cache holds, which are given back in 0.4 instead of written and read, and 2 for the checksums.
With nothing unsynced it is one read of the 1 MiB that a direct commit has written last, zeros included, and three flushes.
Tried: direct reads instead of a dropped cache, 37 ms instead of 25 for sync and reading, as the kernel's readahead keeps
more requests under way; two threads, and a readahead of all of it at once: slower; writeback started and not awaited before
direct reads: no faster; no page of a hole read: 2 % with nothing unsynced.`,
  },
  {
    ids: /^full-4096$/,
    text: `**\`full\`, one at a time.** One direct write and one fsync, as in the floor; above it are the switches between threads
that an append at sync has, 15 to 20 us of 160.`,
  },
  {
    ids: /^five-mib-once$/,
    text: `**5 MiB at once.** One record, which is copied and checksummed (0.5 to 1.4 ms) before the device gets any of it, then
one direct write to a new segment and its name's sync. Five rounds of one run differ by more than the target leaves: 1.03x
and 1.53x are two runs of the same code.`,
  },
  {
    ids: /^scan-65536/,
    text: `**Scan of 64 KiB.** Records may be kept by the caller, so each batch is read into new memory. The same reads by
\`fs.readSync\`: 14.3 GB/s into one buffer that is used again, 5.3 into new ones (medians of 7 rounds in turn), as the kernel has to
make their pages; the checksum is a second pass. The scan was at 2.9 GB/s in those minutes: what is below 2 is a slow phase of the machine.`,
  },
  {
    ids: /^follow-/,
    text: `**Followers.** A record at memory is in the page cache: the follower is woken once a turn of the event loop, and one
read finds it. A record at sync has been written past the page cache, and the follower reads it back from the device: 294 to 828 us with
direct writes, 39 to 169 with \`strategy: 'pwrite'\` in the same rounds.`,
  },
  {
    ids: /^event-loop/,
    text: `**Event loop.** A turn acknowledges at most 1,024 appends, 0.7 ms; a scavenge of their garbage takes 0.8 ms at the
median and 1.6 to 2.3 at its 99th percentile, fifty times a second.`,
  },
]

/** The texts of the targets that were missed. */
export function limitsOf(targets) {
  const missed = targets.rows.filter((row) => row.met === false)
  return limits
    .filter(({ ids }) => missed.some((row) => ids.test(row.id)))
    .map(({ text }) => text.replaceAll('\n', '\n  '))
}
