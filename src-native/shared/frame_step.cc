#include "shared/frame_step.h"

#include "base/bytes.h"
#include "record/record_codec.h"
#include "shared/steps.h"

namespace durlog {
namespace {

FrameState StateOf(uint64_t word) {
  return static_cast<FrameState>(static_cast<uint32_t>(word) >> kStateShift);
}

// If the first frame of a batch is whole, so are the others, because its word is stored last.
StepKind WalkBatch(SharedSegment& segment, uint64_t offset, FrameStep* step) {
  uint64_t word = step->word;
  while ((word & kBatchContinuesFlag) != 0) {
    const uint64_t next = offset + step->bytes;
    if (next + kFrameHeaderBytes > segment.bytes()) return StepKind::kBad;
    word = segment.WordAt(next).load(std::memory_order_acquire);
    if (StateOf(word) != FrameState::kCommitted) return StepKind::kBad;
    step->bytes += FrameBytes(word & kLengthMask);
    ++step->seqs;
  }
  return StepKind::kWhole;
}

}  // namespace

void StepAt(SharedSegment& segment, uint64_t offset, FrameStep* step) {
  step->bytes = 0;
  step->seqs = 0;
  step->word = 0;
  if (offset + kFrameHeaderBytes > segment.bytes()) {
    step->kind = StepKind::kEnd;
    return;
  }
  step->word = segment.WordAt(offset).load(std::memory_order_acquire);
  if (step->word == 0) {
    step->kind = StepKind::kFree;
    return;
  }
  step->bytes = FrameBytes(step->word & kLengthMask);
  step->kind = StepKind::kWhole;
  switch (StateOf(step->word)) {
    case FrameState::kCommitted:
      step->seqs = 1;
      step->kind = WalkBatch(segment, offset, step);
      break;
    case FrameState::kReserved:
      step->kind = StepKind::kReserved;
      step->seqs = ReservedSeqsOf(step->word);
      break;
    case FrameState::kVoid:
      // Another member that makes the same void may be storing the same bytes.
      step->seqs = static_cast<uint32_t>(
          segment.WordAt(offset + kFrameUnsyncedOffset).load(std::memory_order_relaxed));
      break;
    case FrameState::kMarker:
    case FrameState::kPadding: break;
    default: step->kind = StepKind::kBad;
  }
  if (step->bytes > segment.bytes() - offset) step->kind = StepKind::kBad;
}

void MakeVoid(SharedSegment& segment, uint64_t offset, uint64_t seq, const FrameStep& step) {
  uint8_t header[kFrameHeaderBytes];
  EncodeVoid(seq, static_cast<uint32_t>(step.seqs),
             static_cast<uint32_t>(step.bytes - kFrameHeaderBytes), segment.crc_seed(), header);
  segment.StoreHeaderRest(offset, header);
  AtStep(Step::kVoidStored);
  uint64_t expected = step.word;
  // If this fails, another member has made the void.
  static_cast<void>(segment.WordAt(offset).compare_exchange_strong(
      expected, Load64(header), std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace durlog
