// Maps of files that no other process touches. For stores to a page that the kernel cannot provide,
// which depend on the system, see mapping_posix_test.cc.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "platform/file_system.h"
#include "platform_test_folder.h"

namespace durlog {
namespace {

// More than one step of any system's map alignment.
constexpr size_t kBytes = 256 << 10;

class PlatformMappingTest : public PlatformTest {
 protected:
  void SetUp() override {
    file_ = MakeFile("file", kBytes);
    Result<std::unique_ptr<Mapping>> map = file_->Map(0, kBytes);
    ASSERT_TRUE(map.ok()) << map.status().message();
    map_ = std::move(map.value());
  }

  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> map_;
};

TEST_F(PlatformMappingTest, AStoreIsInTheFileAtOnce) {
  std::memcpy(map_->data() + 5000, "stored", 6);
  char read[6];
  ASSERT_EQ(file_->ReadAt(5000, read, 6).value(), 6u);
  EXPECT_EQ(std::string(read, 6), "stored");
  EXPECT_TRUE(map_->Sync(5000, 6).ok());
  EXPECT_TRUE(map_->Sync(0, kBytes).ok());
  EXPECT_TRUE(map_->Sync(0, 0).ok());
  EXPECT_FALSE(map_->faulted());
}

TEST_F(PlatformMappingTest, AMapOutlivesItsFileObject) {
  ASSERT_TRUE(file_->Close().ok());
  map_->data()[0] = 1;
  EXPECT_TRUE(map_->Sync(0, 1).ok());
}

TEST_F(PlatformMappingTest, PartOfAFileCanBeMapped) {
  const size_t step = folder_->Probe()->map_alignment;
  Result<std::unique_ptr<Mapping>> part = file_->Map(step, 100);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ((*part)->size(), 100u);
  (*part)->data()[99] = 'p';
  EXPECT_EQ(map_->data()[step + 99], 'p');
  EXPECT_EQ(file_->Map(1, 100).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(file_->Map(0, 0).status().code(), Code::kInvalidArgument);
}

TEST_F(PlatformMappingTest, ARangeOutsideOfTheMapIsRefused) {
  EXPECT_EQ(map_->Populate(kBytes, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(map_->Populate(1, SIZE_MAX).code(), Code::kInvalidArgument);
  EXPECT_EQ(map_->Sync(kBytes - 1, 2).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace durlog
