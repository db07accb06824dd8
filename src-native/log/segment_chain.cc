#include "log/segment_chain.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/bytes.h"
#include "record/segment_header.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

// Zeros are written once for about this many commits, within limits: less is not worth a job, and
// more takes a fast disk half a millisecond, for which commits and a rotation may wait.
constexpr uint64_t kCommitsPerZeros = 16;
constexpr uint64_t kMinZerosBytes = 64u << 10;
constexpr uint64_t kMaxZerosBytes = 1u << 20;

}  // namespace

SegmentChain::SegmentChain(FileSystem& file_system, Directory& directory, const LogOptions& options,
                           const Capabilities& capabilities, const WritePolicy& policy)
    : file_system_(file_system),
      directory_(directory),
      options_(options),
      capabilities_(capabilities),
      policy_(policy) {}

SegmentChain::~SegmentChain() {
  if (spare_) RemoveSpare(directory_, *spare_);  // first, because it cancels the zeros
  watched_.AwaitAll();
  for (const std::shared_ptr<Segment>& segment : left_) segment->file().AwaitFills();
}

void SegmentChain::Add(const Segment& segment) {
  const uint64_t first_seq = segment.first_seq();
  if (first_seqs_.empty() || first_seqs_.back() != first_seq) first_seqs_.push_back(first_seq);
  Hold(segment, kSegmentHeaderBytes);
  preallocated_ = segment.preallocated();
}

void SegmentChain::Hold(const Segment& segment, uint64_t end) {
  while (!held_.empty() && held_.back().first_seq >= segment.first_seq()) held_.pop_back();
  if (held_.size() == kMaxHeld) held_.erase(held_.begin());
  held_.push_back({segment.first_seq(), segment.id(), end, 0, 0});
}

void SegmentChain::NoteEnd(const Segment& segment, uint64_t offset, uint64_t frame) {
  for (HeldSegment& held : held_) {
    if (held.first_seq != segment.first_seq()) continue;
    // A commit that was rolled back may have replaced an empty segment.
    if (!(held.id == segment.id()))
      held = {held.first_seq, segment.id(), kSegmentHeaderBytes, 0, 0};
    held.NoteEnd(offset, frame);
  }
}

HeldFiles SegmentChain::Held() const {
  HeldFiles files;
  for (const uint64_t seq : first_seqs_) {
    if (seq >= first_seq()) files.segments.push_back(seq);
  }
  for (const HeldSegment& held : held_) {
    if (held.first_seq < first_seq() || held.first_seq > first_seqs_.back()) continue;
    files.open.push_back(held);
    // The next segment takes the name of one that holds no record.
    const bool is_empty = held.end <= kSegmentHeaderBytes;
    if (is_empty || !capabilities_.keeps_file_ids) files.open.back().id.reset();
  }
  if (!files.open.empty()) files.quiet_before = files.open.front().first_seq;
  return files;
}

void SegmentChain::NoteActivated(const Segment& segment) {
  Add(segment);
  ++rotations_;
  listener_->OnRotated(segment.first_seq());
}

uint64_t SegmentChain::NextBytes(uint64_t last_bytes, uint64_t frame_bytes) const {
  const uint64_t most = options_.segment_bytes;
  if (options_.first_segment_bytes == 0) return most;
  uint64_t bytes = last_bytes == 0 ? options_.first_segment_bytes : 2 * last_bytes;
  while (bytes < most && bytes - kSegmentHeaderBytes < frame_bytes) bytes *= 2;
  return std::min(bytes, most);
}

std::shared_ptr<SpareJob> SegmentChain::MakeSpare(const LogUuid& uuid, uint64_t segment_bytes,
                                                  uint64_t base_time_ms, uint64_t first_chunk_bytes,
                                                  uint64_t synced_end) {
  SpareRequest request;
  request.preallocation = policy_.SparePreallocation();
  request.direct_alignment = capabilities_.direct_io ? capabilities_.direct_alignment : 0;
  request.first_chunk_bytes = first_chunk_bytes;
  SegmentHeader header;
  // A restored log may hold voids, which version 1 does not have.
  if (options_.restored.uuid != LogUuid{}) header.version = kSharedVersion;
  header.uuid = uuid;
  header.salt = file_system_.Random64();
  header.base_time_ms = base_time_ms;
  header.segment_bytes = segment_bytes;
  header.synced_end = synced_end;
  // A trimmed segment is kept only if it has the full length.
  if (!recyclable_.empty() && segment_bytes == options_.segment_bytes) {
    request.recycled_name = std::move(recyclable_.back());
    recyclable_.pop_back();
    header.recycled = true;
    ++recycled_;
  }
  request.populating = policy_.PopulatesWith(header.recycled);
  return std::make_shared<SpareJob>(directory_, std::move(request), header,
                                    SpareName(file_system_.Random64()));
}

const std::shared_ptr<SpareJob>& SegmentChain::RequestSpare(const LogUuid& uuid,
                                                            uint64_t segment_bytes,
                                                            uint64_t base_time_ms,
                                                            uint64_t first_chunk_bytes,
                                                            uint64_t synced_end) {
  ForgetFilled();  // the spare may need their descriptors
  spare_ = MakeSpare(uuid, segment_bytes, base_time_ms, first_chunk_bytes, synced_end);
  Watch(spare_);
  return spare_;
}

// A commit may run at the same time. It does not wait for the journal to convert extents of another
// file, as it would if a worker wrote zeros to the active segment.
void SegmentChain::ZeroSpare(Executor& executor, uint64_t room, uint64_t group_bytes) {
  if (!spare_ || !spare_->done() || !spare_->spare().ok()) return;
  Spare& spare = *spare_->spare();
  if (!spare.file.is_allocated() || spare.file.has_first_chunk()) return;
  if (spare.zeros && (!spare.zeros->done() || !spare.zeros->complete())) return;
  spare.StopZeros();
  const uint64_t alignment = capabilities_.direct_alignment;
  const uint64_t end = AlignDown(spare.file.segment_bytes(), alignment);
  const uint64_t begin =
      std::max(spare.file.written_end(), AlignUp(kSegmentHeaderBytes, alignment));
  if (begin >= end) return;
  zeros_due_ += group_bytes * (1 + (end - begin) / (room + 1));
  if (zeros_due_ < std::clamp(kCommitsPerZeros * group_bytes, kMinZerosBytes, kMaxZerosBytes)) {
    return;
  }
  const uint64_t bytes = AlignDown(std::min(zeros_due_, kMaxZerosBytes), kMinZerosBytes);
  zeros_due_ = 0;
  spare.zeros =
      std::make_shared<ZerosJob>(directory_, spare.name, begin, std::min(begin + bytes, end));
  Watch(spare.zeros);
  executor.Execute(spare.zeros);
}

Status SegmentChain::CheckSpare() {
  spare_awaited_ = !spare_->done();
  if (spare_awaited_) {
    return Status::Error(Code::kBackpressure, "the next segment is being prepared");
  }
  if (spare_->spare().ok()) return Status::Ok();
  Status failure = spare_->spare().status();
  spare_.reset();
  return failure;
}

bool SegmentChain::AwaitSpare() {
  if (!spare_awaited_ || !spare_) return false;
  spare_->Await();
  return true;
}

std::shared_ptr<SpareJob> SegmentChain::TakeSpare() {
  spare_awaited_ = false;
  return std::exchange(spare_, nullptr);
}

void SegmentChain::DropFailedSpare() {
  if (spare_ && !spare_awaited_ && spare_->done() && !spare_->spare().ok()) spare_.reset();
}

void SegmentChain::DropSpare() {
  RemoveSpare(directory_, *spare_);
  spare_.reset();
}

std::vector<TrimJob::Item> SegmentChain::ItemsBelow(uint64_t seq, uint64_t keep, bool recycle) {
  std::vector<TrimJob::Item> items;
  const size_t most = options_.max_recyclable;
  size_t room = recycle && recyclable_.size() < most ? most - recyclable_.size() : 0;
  for (size_t i = 0; i + 1 < first_seqs_.size(); ++i) {
    if (first_seqs_[i + 1] > seq || first_seqs_[i] >= keep) break;
    TrimJob::Item item{first_seqs_[i], ""};
    if (room > 0) {
      item.recycled_name = SpareName(file_system_.Random64());
      --room;
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::shared_ptr<TrimJob> SegmentChain::BeginTrim(uint64_t seq, uint64_t keep, bool recycle) {
  std::vector<TrimJob::Item> items = ItemsBelow(seq, keep, recycle);
  if (items.empty()) return nullptr;
  trimming_to_ = first_seqs_[items.size()];
  auto job = std::make_shared<TrimJob>(directory_, LeftBefore(trimming_to_), std::move(items),
                                       options_.segment_bytes);
  Watch(job);
  return job;
}

void SegmentChain::FinishTrim(const TrimJob& job) {
  trimming_to_ = 0;
  const uint64_t first_seq_before = first_seqs_.front();
  const auto trimmed = static_cast<std::ptrdiff_t>(job.trimmed());
  first_seqs_.erase(first_seqs_.begin(), first_seqs_.begin() + trimmed);
  trimmed_records_ += first_seqs_.front() - first_seq_before;
  trimmed_bytes_ += job.trimmed_bytes();
  for (const std::string& name : job.recyclable()) recyclable_.push_back(name);
}

void SegmentChain::NoteLeft(std::shared_ptr<Segment> segment) {
  ForgetFilled();
  left_.push_back(std::move(segment));
}

void SegmentChain::ForgetFilled() {
  const auto filled = [](const std::shared_ptr<Segment>& old) { return !old->file().is_filling(); };
  left_.erase(std::remove_if(left_.begin(), left_.end(), filled), left_.end());
}

std::vector<std::shared_ptr<Segment>> SegmentChain::LeftBefore(uint64_t seq) const {
  std::vector<std::shared_ptr<Segment>> left;
  for (const std::shared_ptr<Segment>& segment : left_) {
    if (segment->first_seq() < seq) left.push_back(segment);
  }
  return left;
}

void SegmentChain::Report(LogStats* stats) const {
  stats->segments = first_seqs_.size();
  stats->recycled = recycled_;
  stats->rotations = rotations_;
  stats->preallocated = preallocated_;
  stats->trimmed_records = trimmed_records_;
  stats->trimmed_bytes = trimmed_bytes_;
}

}  // namespace durlog
