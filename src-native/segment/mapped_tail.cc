#include "segment/mapped_tail.h"

#include <algorithm>

#include "base/bytes.h"

namespace durlog {

namespace {

// Also the size of the folios that come of it: what an msync after a small store writes back.
constexpr size_t kZeroStepBytes = 256 << 10;
constexpr size_t kPageBytes = 4096;
const uint8_t kZeros[kZeroStepBytes] = {};

}  // namespace

Status ChunkJob::WriteZeros() {
  uint64_t at = std::max(chunk_.begin, AlignUp(zero_from_, kPageBytes));
  while (at < chunk_.end) {
    const uint64_t step_end = std::min(AlignDown(at, kZeroStepBytes) + kZeroStepBytes, chunk_.end);
    DURLOG_RETURN_IF_ERROR(
        segment_->file().WriteAt(at, kZeros, static_cast<size_t>(step_end - at)));
    at = step_end;
  }
  return Status::Ok();
}

void ChunkJob::Run() {
  retired_.clear();
  if (cancelled_.load(std::memory_order_relaxed)) return;
  const size_t length = static_cast<size_t>(chunk_.end - chunk_.begin);
  if (populating_ == Populating::kWriteZeros) status_ = WriteZeros();
  if (!status_.ok()) return;
  Result<std::unique_ptr<Mapping>> mapped = segment_->file().Map(chunk_.begin, length);
  if (!mapped.ok()) {
    status_ = mapped.TakeStatus();
    return;
  }
  chunk_.mapping = std::move(*mapped);
  status_ = chunk_.mapping->Populate(0, length);
}

void ChunkRun::Run() {
  for (std::shared_ptr<ChunkJob>& job : jobs_) {
    job->RunOnce();
    job.reset();
  }
}

MappedTail::MappedTail(std::shared_ptr<Segment> segment, uint64_t offset, uint32_t map_alignment,
                       uint64_t chunk_bytes, Populating populating, Executor* executor)
    : segment_(std::move(segment)),
      map_alignment_(map_alignment),
      first_offset_(offset),
      chunk_bytes_(chunk_bytes),
      populating_(populating),
      executor_(executor),
      prepared_end_(AlignDown(offset, map_alignment)) {
  PrepareAhead();
}

void MappedTail::PrepareAhead() {
  if (!ahead_.empty() && !run_->done()) return;
  std::vector<std::shared_ptr<ChunkJob>> jobs;
  while (ahead_.size() < chunks_ahead_ && prepared_end_ < segment_->bytes()) {
    const uint64_t end = std::min(prepared_end_ + chunk_bytes_, segment_->bytes());
    auto job = std::make_shared<ChunkJob>(segment_, prepared_end_, end, first_offset_, populating_,
                                          std::move(retired_));
    retired_.clear();
    prepared_end_ = end;
    ahead_.push_back(job);
    jobs.push_back(std::move(job));
  }
  if (jobs.empty()) return;
  run_ = std::make_shared<ChunkRun>(std::move(jobs));
  executor_->Execute(run_);
}

Status MappedTail::TakeNextChunk() {
  if (ahead_.empty()) {
    return Status::Error(Code::kIo, "the segment has no mapped chunk left");
  }
  const std::shared_ptr<ChunkJob> job = ahead_.front();
  job->Await();
  if (!job->status().ok()) return job->status();
  ahead_.pop_front();
  chunks_.push_back(std::move(job->chunk()));
  // Two are enough: a frame shorter than a chunk spans no more.
  while (chunks_.size() > 2) {
    retired_.push_back(std::move(chunks_.front()));
    chunks_.pop_front();
  }
  if (chunks_.size() > 1) chunks_ahead_ = kChunksAhead;
  PrepareAhead();
  return Status::Ok();
}

Status MappedTail::EnsureChunks(uint64_t end) {
  while (chunks_.empty() || chunks_.back().end < end) DURLOG_RETURN_IF_ERROR(TakeNextChunk());
  for (const Chunk& chunk : chunks_) {
    if (end > chunk.end) continue;
    current_begin_ = chunk.begin;
    current_end_ = chunk.end;
    current_ = chunk.mapping->data();
    current_mapping_ = chunk.mapping.get();
    break;
  }
  return Status::Ok();
}

uint32_t MappedTail::StoreAcross(uint64_t offset, const void* from, size_t length, uint32_t crc) {
  const uint8_t* source = static_cast<const uint8_t*>(from);
  for (const Chunk& chunk : chunks_) {
    if (offset >= chunk.end || length == 0) continue;
    const size_t part = static_cast<size_t>(std::min<uint64_t>(length, chunk.end - offset));
    crc = CopyAndCrc32c(crc, Address(chunk, offset), source, part);
    offset += part;
    source += part;
    length -= part;
  }
  return crc;
}

uint8_t* MappedTail::Find(uint64_t offset) const {
  for (const Chunk& chunk : chunks_) {
    if (offset >= chunk.begin && offset < chunk.end) return Address(chunk, offset);
  }
  return nullptr;
}

std::vector<Chunk> MappedTail::Covering(uint64_t begin, uint64_t end) const {
  if (chunks_.empty() || chunks_.front().begin > begin || chunks_.back().end < end) return {};
  return std::vector<Chunk>(chunks_.begin(), chunks_.end());
}

void MappedTail::SkipTo(uint64_t offset) {
  Quiesce();
  ahead_.clear();
  for (Chunk& chunk : chunks_) retired_.push_back(std::move(chunk));
  chunks_.clear();
  current_begin_ = current_end_ = 0;
  current_ = nullptr;
  current_mapping_ = nullptr;
  first_offset_ = offset;
  prepared_end_ = AlignDown(offset, map_alignment_);
  PrepareAhead();
}

void MappedTail::Quiesce() {
  for (const std::shared_ptr<ChunkJob>& job : ahead_) job->Cancel();
  for (const std::shared_ptr<ChunkJob>& job : ahead_) {
    job->Await();
    // The worker may keep the job a while yet.
    job->chunk().mapping.reset();
  }
}

bool MappedTail::populating() const {
  return std::any_of(ahead_.begin(), ahead_.end(),
                     [](const std::shared_ptr<ChunkJob>& job) { return !job->done(); });
}

}  // namespace durlog
