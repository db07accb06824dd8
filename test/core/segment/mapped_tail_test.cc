// The tail on real maps of a small file, with workers that run when the test says so.
#include "segment/mapped_tail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "held_executor.h"
#include "observed_file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

constexpr uint64_t kTailSegmentBytes = 4 << 20;

class MappedTailTest : public PlatformTest {
 protected:
  void SetUp() override {
    const Result<Capabilities> capabilities = folder_->Probe();
    ASSERT_TRUE(capabilities.ok());
    shape_.map_alignment = capabilities->map_alignment;
    shape_.window_bytes = 4 * uint64_t{shape_.map_alignment};
    std::unique_ptr<File> file = MakeFile("segment", kTailSegmentBytes);
    SegmentHeader header;
    header.segment_bytes = kTailSegmentBytes;
    const Observer observer = [this](const ObservedCall& call) {
      return call.call == refused_ ? Status::Error(Code::kNoSpace, "refused") : Status::Ok();
    };
    segment_ = std::make_shared<Segment>(
        0, header,
        SegmentFile(std::make_unique<ObservedFile>(std::move(file), "segment", false, observer),
                    kTailSegmentBytes));
  }
  std::unique_ptr<MappedTail> Tail(uint64_t offset = kSegmentHeaderBytes) {
    return std::make_unique<MappedTail>(segment_, offset, shape_, &workers_);
  }
  std::string InFile(uint64_t offset, size_t length) {
    std::string bytes(length, '\0');
    const Result<size_t> read = segment_->file().ReadAt(offset, bytes.data(), length);
    EXPECT_TRUE(read.ok() && *read == length);
    return bytes;
  }
  void WriteFile(uint64_t offset, const std::string& bytes) {
    ASSERT_TRUE(segment_->file().WriteAt(offset, bytes.data(), bytes.size()).ok());
  }
  static std::string Pattern(uint64_t seed, size_t length) {
    std::string bytes(length, '\0');
    for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(1 + (seed + i * 7) % 250);
    return bytes;
  }
  uint64_t page() const { return shape_.map_alignment; }

  TailShape shape_;
  HeldExecutor workers_;
  std::string refused_;
  std::shared_ptr<Segment> segment_;
};

TEST_F(MappedTailTest, AStoreAcrossChunksIsInTheFile) {
  const std::unique_ptr<MappedTail> tail = Tail();
  uint64_t at = kSegmentHeaderBytes;
  for (const uint64_t length : {uint64_t{8}, page(), page() - 8, 3 * page() + 16, 4 * page()}) {
    SCOPED_TRACE(length);
    const std::string bytes = Pattern(at, static_cast<size_t>(length));
    ASSERT_TRUE(tail->Ensure(at, length).ok());
    tail->Store(at, bytes.data(), bytes.size());
    EXPECT_TRUE(InFile(at, bytes.size()) == bytes);
    const uint32_t crc = tail->StoreWithCrc(at, bytes.data(), bytes.size(), 17);
    EXPECT_EQ(crc, Crc32c(17, bytes.data(), bytes.size()));
    tail->Publish(at, 0x01020304);
    EXPECT_EQ(InFile(at, 4), std::string("\4\3\2\1"));
    EXPECT_TRUE(InFile(at + 4, bytes.size() - 4) == bytes.substr(4));
    EXPECT_FALSE(tail->faulted());
    at += length;
  }
}

TEST_F(MappedTailTest, AnIdleWorkerIsNotWaitedFor) {
  const std::unique_ptr<MappedTail> tail = Tail();
  EXPECT_TRUE(tail->populating());
  EXPECT_TRUE(tail->Ensure(kSegmentHeaderBytes, shape_.window_bytes).ok());
}

TEST_F(MappedTailTest, AWindowBehindTheAppendPointStaysMapped) {
  const std::unique_ptr<MappedTail> tail = Tail();
  const uint64_t far = 64 * page();
  for (uint64_t at = kSegmentHeaderBytes; at <= far; at += page()) {
    ASSERT_TRUE(tail->Ensure(at, 8).ok());
    const uint64_t behind = at - std::min(at - kSegmentHeaderBytes, shape_.window_bytes);
    EXPECT_TRUE(tail->Holds(behind));
  }
  EXPECT_FALSE(tail->Holds(kSegmentHeaderBytes)) << "what is further behind is unmapped";
}

TEST_F(MappedTailTest, ListsWhatIsMappedInOrder) {
  const std::unique_ptr<MappedTail> tail = Tail();
  for (uint64_t at = kSegmentHeaderBytes; at <= 64 * page(); at += page()) {
    ASSERT_TRUE(tail->Ensure(at, 8).ok());
    const std::vector<Chunk> mapped = tail->Mapped();
    uint64_t end = 0;
    for (const Chunk& chunk : mapped) {
      EXPECT_NE(chunk.mapping, nullptr);
      EXPECT_LE(end, chunk.begin);
      end = chunk.end;
    }
    const auto holds = [at](const Chunk& chunk) { return chunk.begin <= at && at < chunk.end; };
    EXPECT_TRUE(std::any_of(mapped.begin(), mapped.end(), holds));
  }
}

TEST_F(MappedTailTest, ZerosStayAboveTheFirstOffset) {
  shape_.populating = Populating::kWriteZeros;
  const uint64_t offset = kSegmentHeaderBytes + 512;
  const std::string before = Pattern(1, offset);
  WriteFile(0, before);
  const std::unique_ptr<MappedTail> tail = Tail(offset);
  workers_.RunAll();
  ASSERT_TRUE(tail->Ensure(offset, page()).ok());
  EXPECT_TRUE(InFile(0, before.size()) == before);
}

TEST_F(MappedTailTest, StoresGoOnBehindWhatIsSkipped) {
  shape_.populating = Populating::kWriteZeros;
  const std::unique_ptr<MappedTail> tail = Tail();
  ASSERT_TRUE(tail->Ensure(kSegmentHeaderBytes, 8).ok());
  const std::string frame = Pattern(1, static_cast<size_t>(9 * page() + 24));
  WriteFile(kSegmentHeaderBytes, frame);  // longer than the window
  const uint64_t end = kSegmentHeaderBytes + frame.size();
  tail->SkipTo(end);
  workers_.RunAll();
  const std::string next = Pattern(2, 100);
  ASSERT_TRUE(tail->Ensure(end, next.size()).ok());
  tail->Store(end, next.data(), next.size());
  EXPECT_TRUE(InFile(kSegmentHeaderBytes, frame.size()) == frame);
  EXPECT_EQ(InFile(end, next.size()), next);
}

// A worker that came late would write its zeros over what is written to the file instead.
TEST_F(MappedTailTest, AGivenUpTailsJobsWriteNothing) {
  shape_.populating = Populating::kWriteZeros;
  const std::string bytes = Pattern(1, static_cast<size_t>(16 * page()));
  for (const bool leaves : {false, true}) {
    std::unique_ptr<MappedTail> tail = Tail();
    if (leaves) {
      static_cast<void>(tail->Leave());
      tail.reset();
      EXPECT_TRUE(segment_->file().is_filling()) << "a sealed segment's tail waits for no worker";
    } else {
      tail->Quiesce();
    }
    WriteFile(kSegmentHeaderBytes, bytes);
    workers_.RunAll();
    EXPECT_TRUE(InFile(kSegmentHeaderBytes, bytes.size()) == bytes) << leaves;
    EXPECT_FALSE(segment_->file().is_filling());
  }
}

TEST_F(MappedTailTest, WhatASealedTailHasMappedIsHandedOn) {
  const std::unique_ptr<MappedTail> tail = Tail();
  workers_.RunAll();
  ASSERT_TRUE(tail->Ensure(kSegmentHeaderBytes, 8).ok());
  const uint64_t lead = tail->lead_bytes();
  workers_.RunAll();
  const TailLegacy legacy = tail->Leave();
  EXPECT_EQ(legacy.lead_bytes, lead);
  EXPECT_FALSE(segment_->file().is_filling());
  ASSERT_GT(legacy.chunks.size(), 1u);
  for (const Chunk& chunk : legacy.chunks) EXPECT_NE(chunk.mapping, nullptr);
  const auto holds_first = [](const Chunk& chunk) {
    return chunk.begin <= kSegmentHeaderBytes && kSegmentHeaderBytes < chunk.end;
  };
  EXPECT_TRUE(std::any_of(legacy.chunks.begin(), legacy.chunks.end(), holds_first))
      << "what was stored to";
  EXPECT_FALSE(tail->Holds(kSegmentHeaderBytes));
}

TEST_F(MappedTailTest, NothingIsMappedBeyondTheEndOfTheFile) {
  for (const Populating populating : {Populating::kTouch, Populating::kWriteZeros}) {
    shape_.populating = populating;
    const uint64_t end = kSegmentHeaderBytes + 100;
    ASSERT_TRUE(segment_->file().handle().Truncate(end).ok());
    const std::unique_ptr<MappedTail> tail = Tail();
    workers_.RunAll();
    EXPECT_EQ(tail->Ensure(kSegmentHeaderBytes, 8).code(), Code::kIo);
    tail->Quiesce();
    const Result<uint64_t> bytes = segment_->file().handle().Size();
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(*bytes, end) << "zeros hide that the file was cut";
  }
}

// A `full` sync writes the pages of the lead too, so it is at most half of what was stored.
TEST_F(MappedTailTest, ALeadGrowsWithTheStreamAndIsBounded) {
  const std::unique_ptr<MappedTail> tail = Tail();
  const uint64_t first = tail->lead_bytes();
  for (uint64_t at = kSegmentHeaderBytes; at < kTailSegmentBytes; at += page()) {
    ASSERT_TRUE(tail->Ensure(at, 8).ok());
    EXPECT_EQ(tail->lead_bytes() % page(), 0u) << "chunks begin on a page";
    const uint64_t mapped = at - kSegmentHeaderBytes + shape_.chunk_bytes();
    EXPECT_LE(tail->lead_bytes(), std::max(first, mapped / 2));
  }
  EXPECT_GT(tail->lead_bytes(), first);
  EXPECT_LE(tail->lead_bytes(), 4 * shape_.window_bytes);
}

TEST_F(MappedTailTest, AMapThatCannotBeHadIsAnError) {
  for (const std::string call : {"map", "populate"}) {
    refused_ = call;
    EXPECT_EQ(Tail()->Ensure(kSegmentHeaderBytes, 8).code(), Code::kNoSpace) << call;
  }
  refused_.clear();
  EXPECT_EQ(Tail(kTailSegmentBytes - 8)->Ensure(kTailSegmentBytes - 8, 16).code(), Code::kIo)
      << "there is nothing behind the segment's end";
}

}  // namespace
}  // namespace durlog
