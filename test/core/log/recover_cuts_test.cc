// The list of the log's truncations, when a writer opens the log.
#include <gtest/gtest.h>

#include "cursor/cut_list.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

class RecoverCutsTest : public LogTestFolder {
 protected:
  RecoverCutsTest() : file_system_([this](const ObservedCall& call) { return Observe(call); }) {}

  int syncs_ = 0;
  ObservedFileSystem file_system_;

 private:
  Status Observe(const ObservedCall& call) {
    if (call.name == "cuts" && call.call == "sync-data") ++syncs_;
    return Status::Ok();
  }
};

// The simulated disk found it: a cursor that had committed at sync after the cut was newer than the
// list after a power cut, and was reported as damaged.
TEST_F(RecoverCutsTest, ACutThatAKilledWriterHasRecordedIsSyncedByTheNextOpen) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  ASSERT_TRUE(log->AppendSync(AsBytes("record"), Level::kSync).ok());
  const LogUuid uuid = log->uuid();
  log.reset();
  const std::unique_ptr<Directory> directory =
      std::move(DefaultFileSystem().OpenDirectory(PathOf("log"), false).value());
  ASSERT_TRUE(RecordCut(*directory, uuid, 0).ok());
  log = Open(SmallOptions(Strategy::kPwrite), file_system_);
  EXPECT_GT(syncs_, 0);
}

}  // namespace
}  // namespace durlog
