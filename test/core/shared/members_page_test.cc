#include "shared/members_page.h"

#include <gtest/gtest.h>

#include <memory>

#include "shared_test_folder.h"

namespace durlog {
namespace {

constexpr uint32_t kSlot = 1;

class MembersPageTest : public SharedTestFolder {
 protected:
  std::unique_ptr<MembersPage> OpenPage(OwnerProcess process) {
    Result<std::unique_ptr<MembersPage>> page = MembersPage::Open(*folder_, process);
    EXPECT_TRUE(page.ok()) << page.status().message();
    return std::move(*page);
  }
};

TEST_F(MembersPageTest, AProcessIdOfAnotherNamespaceIsNotReported) {
  const std::unique_ptr<MembersPage> owner = OpenPage({42, 1});
  ASSERT_TRUE(owner->Make(LogUuid{1}, 65536, 2).ok());
  ASSERT_TRUE(*owner->TryLock(PageLock::kSync));
  ASSERT_TRUE(*owner->TryLockSlot(kSlot));
  owner->NoteSlotOwner(kSlot);
  const std::unique_ptr<MembersPage> neighbour = OpenPage({7, 1});
  ASSERT_TRUE(neighbour->Join().ok());
  EXPECT_EQ(neighbour->OtherOwnerOf(PageLock::kSync), 42);
  EXPECT_EQ(neighbour->SlotOwner(kSlot), 42);
  const std::unique_ptr<MembersPage> stranger = OpenPage({7, 2});
  ASSERT_TRUE(stranger->Join().ok());
  EXPECT_EQ(stranger->OtherOwnerOf(PageLock::kSync), 0);
  EXPECT_EQ(stranger->SlotOwner(kSlot), 0);
  EXPECT_TRUE(stranger->HasSlotOwner(kSlot));
}

TEST_F(MembersPageTest, TimesInASegmentNeverFall) {
  const std::unique_ptr<MembersPage> page = OpenPage({});
  ASSERT_TRUE(page->Make(LogUuid{1}, 65536, 2).ok());
  page->SetTime(10, 0);
  EXPECT_EQ(page->RaiseTime(10, 500), 500u);
  EXPECT_EQ(page->RaiseTime(10, 400), 500u);
  EXPECT_EQ(page->RaiseTime(10, 600), 600u);
  // The next segment has another base time.
  EXPECT_EQ(page->RaiseTime(20, 5), 5u);
  EXPECT_EQ(page->RaiseTime(20, 0), 5u);
  // A member that was stopped in the previous segment changes nothing.
  EXPECT_EQ(page->RaiseTime(10, 700), 700u);
  EXPECT_EQ(page->RaiseTime(20, 0), 5u);
  const uint64_t beyond = uint64_t{1} << 32;
  page->SetTime(beyond - 1, 0);
  EXPECT_EQ(page->RaiseTime(beyond - 1, 9), 9u);
  EXPECT_EQ(page->RaiseTime(beyond + 1, 3), 3u);
  EXPECT_EQ(page->RaiseTime(beyond + 1, 2), 3u);
}

}  // namespace
}  // namespace durlog
