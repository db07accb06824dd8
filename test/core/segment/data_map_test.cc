#include "segment/data_map.h"

#include <memory>
#include <string>

#include "platform_test_folder.h"
#include "record/segment_header.h"
#include "segment/scanner.h"

namespace durlog {
namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kFileBytes = 64 * kMiB;

class DataMapTest : public PlatformTest {
 protected:
  // A file of blocks that were never written. Null where the file system tells nothing of these.
  std::unique_ptr<File> MakeHole() {
    std::unique_ptr<File> file = MakeFile("hole");
    if (!file->Allocate(0, kFileBytes).ok() && !file->Truncate(kFileBytes).ok()) {
      return nullptr;
    }
    Result<uint64_t> data = file->NextData(0);
    return data.ok() && *data == UINT64_MAX ? std::move(file) : nullptr;
  }
  static void Fill(File& file, uint64_t begin, uint64_t end) {
    const std::string bytes(static_cast<size_t>(end - begin), 'x');
    ASSERT_TRUE(file.WriteAt(begin, bytes.data(), bytes.size()).ok());
  }
};

TEST_F(DataMapTest, NothingThatWasWrittenIsPassedOver) {
  const std::unique_ptr<File> file = MakeHole();
  if (!file) GTEST_SKIP() << "the file system does not tell where a file has no data";
  const uint64_t first = 3 * kMiB + 4096;
  const uint64_t last = kFileBytes - 4096;
  Fill(*file, first, first + 4096);
  Fill(*file, last, kFileBytes);
  const Result<DataMap> map = DataMap::Of(*file, kFileBytes);
  ASSERT_TRUE(map.ok());
  EXPECT_LE(map->NextData(0), first);
  EXPECT_GT(map->NextData(0), 2 * kMiB);
  EXPECT_EQ(map->NextData(first + 8), first + 8);
  EXPECT_LE(map->NextData(4 * kMiB), last);
  EXPECT_GT(map->NextData(4 * kMiB), kFileBytes - 2 * kMiB);
  EXPECT_EQ(map->NextData(last + 8), last + 8);
  EXPECT_EQ(map->NextData(kFileBytes), UINT64_MAX);
}

// Readahead puts pages of zeros into the cache, and the file system takes these for data.
TEST_F(DataMapTest, AScanDoesNotReadWhatItsOwnReadaheadHasBroughtIn) {
  const std::unique_ptr<File> file = MakeHole();
  if (!file) GTEST_SKIP() << "the file system does not tell where a file has no data";
  const std::string zeros(static_cast<size_t>(kMiB), '\0');
  ASSERT_TRUE(file->WriteAt(0, zeros.data(), zeros.size()).ok());
  ASSERT_TRUE(file->SyncData().ok());
  ASSERT_TRUE(file->DropCache().ok());
  // Sequential reads, as when a segment is opened, make the system read ahead.
  uint8_t header[kSegmentHeaderBytes];
  ASSERT_TRUE(file->ReadAt(0, header, sizeof header).ok());
  const Result<SegmentScan> scan = ScanSegment(*file, ScanContext{0, 1, kFileBytes, false});
  ASSERT_TRUE(scan.ok());
  EXPECT_FALSE(scan->damaged);
  EXPECT_LE(scan->bytes_read, 2 * kMiB);
}

}  // namespace
}  // namespace durlog
