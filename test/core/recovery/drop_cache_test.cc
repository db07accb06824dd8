#include "recovery/drop_cache.h"

#include <memory>
#include <string>

#include "observed_file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

constexpr uint64_t kOneMiB = 1u << 20;
constexpr uint64_t kTailBytes = 8 * kOneMiB;

class DropCacheTest : public PlatformTest {
 protected:
  // As a writer leaves it that stores into a map: records, then zeros, all of them in the cache
  // only, then blocks that were never written. Null where the system does not tell what it caches.
  std::unique_ptr<File> MakeTail() {
    std::unique_ptr<File> file = MakeFile("tail");
    if (!file->Allocate(0, kTailBytes).ok()) return nullptr;
    const std::string records(static_cast<size_t>(kOneMiB), 'x');
    // They end where a chunk of the map does, which is at any page.
    const std::string zeros(static_cast<size_t>(4 * kOneMiB + 4096), '\0');
    EXPECT_TRUE(file->WriteAt(0, records.data(), records.size()).ok());
    EXPECT_TRUE(file->WriteAt(kOneMiB, zeros.data(), zeros.size()).ok());
    const std::optional<CacheUse> use = file->CacheUseOf(0, kTailBytes);
    return use && use->dirty_bytes > 2 * kOneMiB ? std::move(file) : nullptr;
  }
  static std::string Content(File& file) {
    std::string content(static_cast<size_t>(kTailBytes), '?');
    const Result<size_t> read = file.ReadAt(0, content.data(), content.size());
    EXPECT_TRUE(read.ok() && *read == kTailBytes);
    return content;
  }
};

constexpr char kNotTold[] = "the system does not tell what its page cache holds";

TEST_F(DropCacheTest, ZerosThatOnlyTheCacheHoldsAreNotWritten) {
  std::unique_ptr<File> file = MakeTail();
  if (!file) GTEST_SKIP() << kNotTold;
  const std::string before = Content(*file);
  ASSERT_TRUE(DiscardDirtyZeros(*file).ok());
  ASSERT_TRUE(DropCache(*file).ok());
  const Result<uint64_t> data = file->NextData(kOneMiB);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(*data, UINT64_MAX) << "the zeros have become data";
  EXPECT_EQ(Content(*file), before);
}

TEST_F(DropCacheTest, BytesAfterTheZerosStay) {
  std::unique_ptr<File> file = MakeTail();
  if (!file) GTEST_SKIP() << kNotTold;
  ASSERT_TRUE(file->WriteAt(kTailBytes - 8, "evidence", 8).ok());
  const std::string before = Content(*file);
  ASSERT_TRUE(DiscardDirtyZeros(*file).ok());
  EXPECT_EQ(Content(*file), before);
}

TEST_F(DropCacheTest, TheCacheIsEmptyIfItReportsSo) {
  std::unique_ptr<File> file = MakeTail();
  if (!file) GTEST_SKIP() << kNotTold;
  const Result<bool> from_device = DropCache(*file);
  ASSERT_TRUE(from_device.ok());
  if (*from_device) {
    EXPECT_EQ(file->CacheUseOf(4 * kOneMiB, 4 * kOneMiB)->cached_bytes, 0u);
  }
}

// The failed sync reports a writeback error, but the affected pages may look intact.
TEST_F(DropCacheTest, AfterAFailedSyncNothingIsKnownOfTheDevice) {
  std::unique_ptr<File> file = MakeTail();
  if (!file) GTEST_SKIP() << kNotTold;
  int failures = 1;
  ObservedFile observed(std::move(file), "tail", false, [&failures](const ObservedCall& call) {
    if (call.call != "sync-data" || failures-- <= 0) return Status::Ok();
    return Status::Error(Code::kIo, "a sync that was made to fail");
  });
  const Result<bool> from_device = DropCache(observed);
  ASSERT_TRUE(from_device.ok());
  EXPECT_FALSE(*from_device);
}

}  // namespace
}  // namespace durlog
