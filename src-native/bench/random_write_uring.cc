// One thread with one ring. Each slot allocates the cluster, if necessary, and then writes a block.
#include <fcntl.h>
#include <linux/falloc.h>

#include <cerrno>

#include "bench/io_uring_ring.h"
#include "bench/random_engine.h"

namespace durlog::bench {

namespace {

struct Slot {
  uint64_t block = 0;
  uint64_t begun_nanos = 0;
  bool allocating = false;
};

class UringRun {
 public:
  UringRun(const RandomWriteSpec& spec, int fd)
      : spec_(spec),
        fd_(fd),
        clusters_(ClusterCount(spec), spec.cluster != "none"),
        slots_(spec.depth),
        start_nanos_(NowNanos()),
        tally_(spec, start_nanos_) {}

  Status Run(RandomWriteResult* result);

 private:
  void Start(uint32_t index);
  void PrepareWrite(uint32_t index);
  void PrepareAllocation(uint32_t index);
  Status Complete(const io_uring_cqe& completion, bool go_on);

  const RandomWriteSpec& spec_;
  const int fd_;
  IoUringRing ring_;
  Clusters clusters_;
  AlignedBuffer zeros_;
  AlignedBuffer block_;
  Random random_{spec_.seed};
  std::vector<Slot> slots_;
  uint64_t start_nanos_;
  Tally tally_;
  uint32_t in_flight_ = 0;
};

void UringRun::PrepareWrite(uint32_t index) {
  io_uring_sqe* entry = ring_.Prepare();
  entry->opcode = IORING_OP_WRITE;
  entry->fd = fd_;
  entry->addr = reinterpret_cast<uintptr_t>(block_.data());
  entry->len = kBlockBytes;
  entry->off = slots_[index].block * kBlockBytes;
  entry->user_data = index;
  slots_[index].allocating = false;
}

void UringRun::PrepareAllocation(uint32_t index) {
  const uint64_t offset = slots_[index].block * kBlockBytes / kClusterBytes * kClusterBytes;
  io_uring_sqe* entry = ring_.Prepare();
  entry->fd = fd_;
  entry->off = offset;
  entry->user_data = index;
  if (spec_.cluster == "zero") {
    entry->opcode = IORING_OP_WRITE;
    entry->addr = reinterpret_cast<uintptr_t>(zeros_.data());
    entry->len = kClusterBytes;
  } else {
    entry->opcode = IORING_OP_FALLOCATE;
    entry->len = FALLOC_FL_ZERO_RANGE;
    entry->addr = kClusterBytes;
  }
  slots_[index].allocating = true;
}

void UringRun::Start(uint32_t index) {
  Slot& slot = slots_[index];
  slot.begun_nanos = NowNanos();
  for (;;) {
    slot.block = random_.Below(spec_.file_bytes / kBlockBytes);
    const ClusterState state = clusters_.Claim(slot.block * kBlockBytes / kClusterBytes);
    if (state == ClusterState::kAllocating) continue;
    state == ClusterState::kEmpty ? PrepareAllocation(index) : PrepareWrite(index);
    ++in_flight_;
    return;
  }
}

Status UringRun::Complete(const io_uring_cqe& completion, bool go_on) {
  const auto index = static_cast<uint32_t>(completion.user_data);
  if (completion.res < 0) return Status::System("io_uring", -completion.res, spec_.path);
  Slot& slot = slots_[index];
  if (slot.allocating) {
    clusters_.MarkReady(slot.block * kBlockBytes / kClusterBytes);
    PrepareWrite(index);
    return Status::Ok();
  }
  tally_.Add(slot.begun_nanos, NowNanos());
  --in_flight_;
  if (go_on) Start(index);
  return Status::Ok();
}

Status UringRun::Run(RandomWriteResult* result) {
  DURLOG_ASSIGN_OR_RETURN(zeros_, MakeZeroedBuffer(kClusterBytes));
  DURLOG_ASSIGN_OR_RETURN(block_, MakeZeroedBuffer(kBlockBytes));
  DURLOG_RETURN_IF_ERROR(ring_.Open(spec_.depth * 2));
  const uint64_t end = start_nanos_ + uint64_t{spec_.millis} * 1000000;
  for (uint32_t i = 0; i < spec_.depth; ++i) Start(i);
  Status failed;
  while (in_flight_ != 0) {
    DURLOG_RETURN_IF_ERROR(ring_.Submit(1));
    const bool go_on = failed.ok() && NowNanos() < end;
    for (io_uring_cqe completion; ring_.Take(&completion);) {
      Status status = Complete(completion, go_on);
      if (status.ok()) continue;
      // The kernel still reads the buffers of the other writes, so they must complete first.
      --in_flight_;
      failed = std::move(status);
    }
  }
  DURLOG_RETURN_IF_ERROR(std::move(failed));
  tally_.MergeInto(result);
  return Status::Ok();
}

}  // namespace

Status RunWithIoUring(const RandomWriteSpec& spec, int fd, RandomWriteResult* result) {
  UringRun run(spec, fd);
  return run.Run(result);
}

}  // namespace durlog::bench
