#include "segment/mapped_tail.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace durlog {

void ChunkJob::Run() {
  if (cancelled()) return;
  status_ = PopulateChunk(segment_->file().handle(), populating_, zero_from_, &chunk_);
}

void ChunkRun::Run() {
  retired_.clear();
  for (std::shared_ptr<ChunkJob>& job : jobs_) {
    job->RunOnce();
    job.reset();
  }
}

MappedTail::MappedTail(std::shared_ptr<Segment> segment, uint64_t offset, const TailShape& shape,
                       Executor* executor, Chunk first, TailLegacy legacy)
    : segment_(std::move(segment)),
      shape_(shape),
      executor_(executor),
      first_offset_(offset),
      next_chunk_bytes_(
          std::max<uint64_t>(shape.chunk_bytes() / kFirstChunkShare, shape.map_alignment)),
      lead_bytes_(std::max(legacy.lead_bytes, next_chunk_bytes_ * kGrowth)),
      prepared_end_(AlignDown(offset, shape.map_alignment)),
      retired_(std::move(legacy.chunks)) {
  if (first.mapping) {
    prepared_end_ = first.end;
    next_chunk_bytes_ = shape.chunk_bytes();
    chunks_.push_back(std::move(first));
  }
  PrepareAhead();
}

// A quarter of the lead at a time: each run costs the appending thread a call to the executor.
void MappedTail::PrepareAhead() {
  if (!ahead_.empty() && !run_->done()) return;
  const uint64_t from = prepared_from();
  if (!ahead_.empty() && (prepared_end_ - from) * 4 > lead_bytes_ * 3) return;
  std::vector<std::shared_ptr<ChunkJob>> jobs;
  while (prepared_end_ < std::min(from + lead_bytes_, segment_->bytes())) {
    const uint64_t end = std::min(prepared_end_ + next_chunk_bytes_, segment_->bytes());
    auto job =
        std::make_shared<ChunkJob>(segment_, prepared_end_, end, first_offset_, shape_.populating);
    prepared_end_ = end;
    next_chunk_bytes_ = std::min(next_chunk_bytes_ * kGrowth, shape_.chunk_bytes());
    ahead_.push_back(job);
    jobs.push_back(std::move(job));
  }
  // If one chunk covers the segment, no job is needed, and the retired chunks would never be
  // unmapped.
  const bool may_unmap = !retired_.empty() && (!run_ || run_->done());
  if (jobs.empty() && !may_unmap) return;
  run_ = std::make_shared<ChunkRun>(std::move(jobs), std::exchange(retired_, {}));
  segment_->file().AddFill(run_);
  executor_->Execute(run_);
}

Status MappedTail::TakeNextChunk() {
  if (ahead_.empty()) PrepareAhead();
  if (ahead_.empty()) {
    return Status::Error(Code::kIo, "the segment has no mapped chunk left");
  }
  const std::shared_ptr<ChunkJob> job = ahead_.front();
  job->Await();
  if (!job->status().ok()) return job->status();
  ahead_.pop_front();
  const bool used_up = !chunks_.empty();
  chunks_.push_back(std::move(job->chunk()));
  job->Release();
  if (used_up) {
    const uint64_t stored = chunks_.back().end - first_offset_;
    const uint64_t earned = AlignDown(stored / kLeadShare, shape_.map_alignment);
    lead_bytes_ = std::min(std::max(lead_bytes_, earned), kWindowsAhead * shape_.window_bytes);
  }
  return Status::Ok();
}

void MappedTail::RetireBelow(uint64_t offset) {
  while (chunks_.front().end + shape_.window_bytes <= offset) {
    retired_.push_back(std::move(chunks_.front()));
    chunks_.pop_front();
  }
}

Status MappedTail::EnsureChunks(uint64_t offset, uint64_t end) {
  while (chunks_.empty() || chunks_.back().end < end) DURLOG_RETURN_IF_ERROR(TakeNextChunk());
  RetireBelow(offset);
  PrepareAhead();
  const auto holder = std::find_if(chunks_.begin(), chunks_.end(),
                                   [end](const Chunk& chunk) { return end <= chunk.end; });
  current_begin_ = holder->begin;
  current_end_ = holder->end;
  current_ = holder->mapping->data();
  current_mapping_ = holder->mapping.get();
  spans_chunks_ = offset < current_begin_;
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

bool MappedTail::AnyFaulted() const {
  return std::any_of(chunks_.begin(), chunks_.end(),
                     [](const Chunk& chunk) { return chunk.mapping->faulted(); });
}

std::vector<Chunk> MappedTail::Mapped() const {
  std::vector<Chunk> mapped = retired_;
  mapped.insert(mapped.end(), chunks_.begin(), chunks_.end());
  for (const std::shared_ptr<ChunkJob>& job : ahead_) {
    if (job->done() && job->status().ok()) mapped.push_back(job->chunk());
  }
  return mapped;
}

void MappedTail::ForgetCurrent() {
  current_begin_ = current_end_ = 0;
  current_ = nullptr;
  current_mapping_ = nullptr;
  spans_chunks_ = false;
}

void MappedTail::SkipTo(uint64_t offset) {
  Quiesce();
  ahead_.clear();
  for (Chunk& chunk : chunks_) retired_.push_back(std::move(chunk));
  chunks_.clear();
  ForgetCurrent();
  first_offset_ = offset;
  prepared_end_ = AlignDown(offset, shape_.map_alignment);
  PrepareAhead();
}

void MappedTail::Quiesce() {
  if (!segment_) return;
  for (const std::shared_ptr<ChunkJob>& job : ahead_) job->Cancel();
  // A run also unmaps retired chunks, and may not have begun.
  segment_->file().AwaitFills();
  for (const std::shared_ptr<ChunkJob>& job : ahead_) {
    job->Await();
    job->Release();
  }
}

TailLegacy MappedTail::Leave() {
  TailLegacy legacy;
  legacy.lead_bytes = lead_bytes_;
  legacy.chunks = std::move(retired_);
  for (Chunk& chunk : chunks_) legacy.chunks.push_back(std::move(chunk));
  chunks_.clear();
  for (const std::shared_ptr<ChunkJob>& job : ahead_) {
    job->Cancel();
    // If a worker is running a job, that job unmaps its chunk when it ends.
    if (job->done()) legacy.chunks.push_back(std::move(job->chunk()));
  }
  ahead_.clear();
  segment_.reset();
  ForgetCurrent();
  return legacy;
}

bool MappedTail::populating() const {
  return std::any_of(ahead_.begin(), ahead_.end(),
                     [](const std::shared_ptr<ChunkJob>& job) { return !job->done(); });
}

}  // namespace durlog
