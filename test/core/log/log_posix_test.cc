// A log under limits that only POSIX systems set.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>

#include "log/log.h"
#include "log_test_folder.h"

namespace durlog {
namespace {

class LogPosixTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  LogOptions Options() const { return SmallOptions(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Strategies, LogPosixTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

// Files of this process may not grow past `bytes`, until the end of the scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    struct rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  struct rlimit before_;
};

TEST_P(LogPosixTest, ALogOutlivesALackOfRoom) {
  signal(SIGXFSZ, SIG_IGN);
  LogOptions options = Options();
  options.preallocation_auto = false;
  options.preallocation = GetParam() == Strategy::kMmap || GetParam() == Strategy::kAuto
                              ? Preallocation::kFallocate
                              : Preallocation::kNone;
  std::unique_ptr<Log> log = Open(options);
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  const uint64_t before = log->next_seq();
  {
    const FileSizeLimit limit(40 << 10);
    Status refused;
    while (refused.ok() && log->next_seq() < 1000) {
      const std::string payload = PayloadOf(log->next_seq());
      const Result<uint64_t> seq = log->AppendSync(AsBytes(payload), Level::kSync);
      refused = seq.status();
    }
    EXPECT_EQ(refused.code(), Code::kNoSpace) << refused.message();
    EXPECT_FALSE(log->latched());
  }
  const uint64_t end = log->next_seq();
  EXPECT_GE(end, before);
  EXPECT_EQ(log->ReachedEnd(Level::kSync), end);
  AppendMany(*log, 200, Level::kSync);
  Close(std::move(log));
  log = Open(options);
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), end + 200);
  Close(std::move(log));
  ExpectRecords(0, end + 200);
}

}  // namespace
}  // namespace durlog
