#include "log/staging.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr uint32_t kBlockBytes = 4096;
constexpr uint64_t kFirst = kSegmentHeaderBytes;

class StagingTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Directory>> directory = disk_.OpenDirectory("memory", true);
    ASSERT_TRUE(directory.ok());
    directory_ = std::move(*directory);
    segment_ = MakeSegment(0);
    staging_.Restart(LogPosition{0, segment_, kFirst});
  }
  std::shared_ptr<Segment> MakeSegment(uint64_t first_seq) {
    SegmentHeader header;
    header.segment_bytes = 64 << 10;
    Result<std::unique_ptr<File>> file =
        directory_->Open(SegmentName(first_seq), OpenMode::kCreateNew);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::make_shared<Segment>(first_seq, header,
                                     SegmentFile(std::move(*file), header.segment_bytes));
  }
  // Stages a record of `bytes` at the end of what has been staged.
  void Stage(const std::shared_ptr<Segment>& segment, bool direct, size_t bytes) {
    const std::string payload(bytes, static_cast<char>('a' + next_seq_ % 26));
    FrameFields fields;
    fields.state = FrameState::kCommitted;
    fields.length = static_cast<uint32_t>(bytes);
    fields.seq = next_seq_;
    ASSERT_TRUE(staging_.Reserve(segment.get(), fields.frame_bytes()).ok());
    const Bytes from{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
    ASSERT_TRUE(staging_.Stage(segment, offset_, direct, fields, from).ok());
    staging_.Count(fields.frame_bytes());
    offset_ += fields.frame_bytes();
    ++next_seq_;
  }
  StagedGroup Take(bool direct) {
    return staging_.Take(LogPosition{next_seq_, segment_, offset_}, direct);
  }

  MemoryFileSystem disk_;
  std::unique_ptr<Directory> directory_;
  std::shared_ptr<Segment> segment_;
  Staging staging_{kBlockBytes};
  uint64_t next_seq_ = 0;
  uint64_t offset_ = kFirst;
};

TEST_F(StagingTest, FramesOfOneSegmentAreOnePiece) {
  EXPECT_TRUE(staging_.empty());
  Stage(segment_, false, 100);
  Stage(segment_, false, 10);
  EXPECT_FALSE(staging_.empty());
  EXPECT_EQ(staging_.group_bytes(), offset_ - kFirst);
  const StagedGroup group = Take(false);
  ASSERT_EQ(group.pieces.size(), 1u);
  const StagedPiece& piece = group.pieces.front();
  EXPECT_EQ(piece.begin, kFirst);
  EXPECT_EQ(piece.end, offset_);
  DecodedFrame frame;
  const uint64_t second = FrameBytes(100);
  ASSERT_EQ(DecodeFrame(piece.buffer.data() + second, piece.used() - second, piece.used() - second,
                        segment_->crc_seed(), &frame),
            DecodeStatus::kWhole);
  EXPECT_EQ(frame.fields.seq, 1u);
  EXPECT_EQ(frame.payload[0], 'b');
}

TEST_F(StagingTest, ARotationBeginsAnotherPiece) {
  Stage(segment_, false, 100);
  offset_ = kFirst;
  segment_ = MakeSegment(1);
  Stage(segment_, false, 10);
  const StagedGroup group = Take(false);
  ASSERT_EQ(group.pieces.size(), 2u);
  EXPECT_EQ(group.pieces[0].segment->first_seq(), 0u);
  EXPECT_EQ(group.pieces[1].segment->first_seq(), 1u);
  EXPECT_EQ(group.pieces[1].begin, kFirst);
}

TEST_F(StagingTest, AGroupBeginsWhereTheOneBeforeEnds) {
  Stage(segment_, false, 100);
  const uint64_t second = offset_;
  EXPECT_EQ(Take(false).start.offset, kFirst);
  Stage(segment_, false, 100);
  const StagedGroup group = Take(false);
  EXPECT_EQ(group.start.seq, 1u);
  EXPECT_EQ(group.start.offset, second);
  EXPECT_EQ(group.end_seq, 2u);
  EXPECT_TRUE(group.has_records());
  EXPECT_FALSE(Take(false).has_records());
}

TEST_F(StagingTest, WhatIsTakenIsPendingUntilItIsSettled) {
  Stage(segment_, false, 100);
  StagedGroup group = Take(false);
  EXPECT_EQ(staging_.group_bytes(), 0u);
  EXPECT_EQ(staging_.pending_bytes(), group.frame_bytes);
  Stage(segment_, false, 10);
  staging_.Settle(group);
  EXPECT_EQ(staging_.pending_bytes(), staging_.group_bytes());
}

TEST_F(StagingTest, WhatIsDiscardedIsNotPending) {
  Stage(segment_, false, 100);
  staging_.Discard(*directory_);
  EXPECT_TRUE(staging_.empty());
  EXPECT_EQ(staging_.pending_bytes(), 0u);
}

TEST_F(StagingTest, ADirectPieceBeginsWithTheRestOfItsBlock) {
  Stage(segment_, true, 100);
  const uint64_t second = offset_;
  const StagedGroup before = Take(true);
  EXPECT_EQ(before.pieces[0].buffer_offset, kFirst);
  // The file has none of it: the bytes are those that were staged last.
  Stage(segment_, true, 100);
  const StagedGroup group = Take(true);
  const StagedPiece& piece = group.pieces.front();
  EXPECT_EQ(piece.buffer_offset, kFirst);
  EXPECT_EQ(piece.begin, second);
  EXPECT_EQ(std::memcmp(piece.buffer.data(), before.pieces[0].buffer.data(), second - kFirst), 0);
}

TEST_F(StagingTest, AForgottenBlockIsReadFromTheFile) {
  Stage(segment_, true, 100);
  const uint64_t head = offset_ - kFirst;
  Take(true);
  staging_.ForgetLastBlock();
  const std::vector<uint8_t> found(static_cast<size_t>(head) / 2, 0x5a);
  ASSERT_TRUE(segment_->file().WriteAt(kFirst, found.data(), found.size()).ok());
  Stage(segment_, true, 10);
  const StagedGroup group = Take(true);
  const uint8_t* const bytes = group.pieces[0].buffer.data();
  EXPECT_EQ(std::memcmp(bytes, found.data(), found.size()), 0);
  // After the end of the file come zeros.
  EXPECT_TRUE(IsAllZero(bytes + found.size(), static_cast<size_t>(head) - found.size()));
}

TEST_F(StagingTest, AnIndirectPieceIsItsFramesAlone) {
  Stage(segment_, false, 100);
  Take(false);
  const uint64_t second = offset_;
  Stage(segment_, false, 100);
  EXPECT_EQ(Take(false).pieces[0].buffer_offset, second);
}

TEST_F(StagingTest, WithoutMemoryNothingIsStaged) {
  AlignedBuffer::refusal_for_tests = [](size_t) { return true; };
  const Status reserved = staging_.Reserve(segment_.get(), 100);
  AlignedBuffer::refusal_for_tests = nullptr;
  EXPECT_EQ(reserved.code(), Code::kOutOfMemory);
  EXPECT_TRUE(staging_.empty());
}

TEST_F(StagingTest, ReservedRoomCoversADirectWritesPadding) {
  Stage(segment_, true, 100);
  const StagedGroup group = Take(true);
  const StagedPiece& piece = group.pieces.front();
  EXPECT_GE(piece.buffer.capacity(), AlignUp(piece.used(), kBlockBytes));
}

}  // namespace
}  // namespace durlog
