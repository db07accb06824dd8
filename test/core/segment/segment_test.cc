#include "segment/segment.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

class SegmentTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Directory>> directory = disk_.OpenDirectory("memory", true);
    ASSERT_TRUE(directory.ok());
    directory_ = std::move(*directory);
  }
  std::shared_ptr<SpareJob> Spare(const std::string& recycled_name = "") {
    SpareRequest request;
    request.preallocation = Preallocation::kNone;
    request.recycled_name = recycled_name;
    SegmentHeader header;
    header.salt = ++salt_;
    header.segment_bytes = 64 << 10;
    header.recycled = !recycled_name.empty();
    return std::make_shared<SpareJob>(*directory_, request, header, SpareName(salt_));
  }
  std::vector<std::string> Names() {
    const Result<std::vector<FileEntry>> entries = directory_->List();
    std::vector<std::string> names;
    if (!entries.ok()) return names;
    for (const FileEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  using Names_ = std::vector<std::string>;

  MemoryFileSystem disk_;
  std::unique_ptr<Directory> directory_;
  uint64_t salt_ = 0;
};

TEST_F(SegmentTest, ASpareBecomesASegmentByARename) {
  const std::shared_ptr<SpareJob> spare = Spare();
  spare->RunOnce();
  EXPECT_EQ(Names(), Names_{SpareName(1)});
  Segment segment(7, spare);
  EXPECT_FALSE(segment.active());
  ASSERT_TRUE(segment.Activate(*directory_).ok());
  EXPECT_TRUE(segment.active());
  EXPECT_EQ(Names(), Names_{SegmentName(7)});
  EXPECT_FALSE(segment.entry_synced) << "the folder has not been synced";
}

TEST_F(SegmentTest, TheHeaderIsWrittenBeforeTheName) {
  const std::shared_ptr<SpareJob> spare = Spare();
  spare->RunOnce();
  Result<std::unique_ptr<File>> file = directory_->Open(SpareName(1), OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  uint8_t block[kSegmentHeaderBytes];
  ASSERT_TRUE((*file)->ReadAt(0, block, sizeof block).ok());
  const Result<DecodedSegmentHeader> decoded = DecodeSegmentHeader(block, sizeof block);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->header.salt, spare->header().salt);
}

TEST_F(SegmentTest, ActivatingMakesAnUnbegunSpare) {
  Segment segment(7, Spare());
  ASSERT_TRUE(segment.Activate(*directory_).ok());
  EXPECT_EQ(Names(), Names_{SegmentName(7)});
}

TEST_F(SegmentTest, ADiscardedSegmentLeavesNoFile) {
  Segment segment(7, Spare());
  segment.Discard(*directory_);
  EXPECT_TRUE(Names().empty());
}

TEST_F(SegmentTest, ItTakesTheNameOfOneWithoutRecords) {
  const auto empty = std::make_shared<Segment>(7, Spare());
  ASSERT_TRUE(empty->Activate(*directory_).ok());
  Segment next(7, Spare(), empty);
  ASSERT_TRUE(next.Activate(*directory_).ok());
  EXPECT_EQ(Names(), Names_{SegmentName(7)});
  EXPECT_FALSE(empty->active());
}

TEST_F(SegmentTest, AFailedSpareFailsItsSegment) {
  Segment segment(7, Spare("spare-00000000000000ff"));
  EXPECT_EQ(segment.Activate(*directory_).code(), Code::kNotFound);
  EXPECT_FALSE(segment.active());
}

}  // namespace
}  // namespace durlog
