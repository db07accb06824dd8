// A disk that is full at any call that allocates blocks, alone and together with other lacks. No
// append may store beyond the end of its file, and the log works again once there is space.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"

namespace durlog {
namespace {

// A fault that strikes together with the lack of space.
struct Companion {
  const char* name;
  const char* call;  // "" for none
  int sys_errno;
  int every;     // strikes at each such call of a segment's file, or at each second, third, ... one
  bool partial;  // the call writes half of its bytes first
};

constexpr Companion kCompanions[] = {
    {"none", "", 0, 1, false},
    {"maps without descriptors", "map", EMFILE, 2, false},
    {"opens without descriptors", "open", ENFILE, 1, false},
    {"maps without memory", "map", ENOMEM, 3, false},
    {"short writes", "write", ENOSPC, 3, true},
    {"direct writes without memory", "write-direct", ENOMEM, 2, false},
};

class SpaceFaultsTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  SpaceFaultsTest() : files_([this](const ObservedCall& call) { return Observe(call); }) {}

  // Runs one log whose `nth` allocation and all later ones fail, until there is space again.
  void Run(uint64_t segment_bytes, int nth, const Companion& companion) {
    std::filesystem::remove_all(PathOf("log"));
    allocations_left_ = INT32_MAX;
    is_full_ = false;
    companion_ = &companion;
    companion_calls_ = 0;
    LogOptions options = SmallOptions(GetParam());
    options.segment_bytes = segment_bytes;
    options.max_record_bytes = static_cast<uint32_t>(segment_bytes / 4);
    options.expected_level = Level::kMemory;
    std::unique_ptr<Log> log = Open(options, files_);
    ASSERT_NE(log, nullptr);
    std::vector<std::string> stored;
    ASSERT_NO_FATAL_FAILURE(AppendRound(*log, 'a', true, &stored));
    allocations_left_ = nth;
    for (int round = 0; round < 6; ++round) {
      // The first allocation may be that of a cut, which follows only another fault.
      if (round == 1) is_full_ = true;
      AppendRound(*log, static_cast<char>('b' + round), false, &stored);
    }
    allocations_left_ = INT32_MAX;
    is_full_ = false;
    ASSERT_FALSE(log->latched());
    // A spare that could not be made while the disk was full refuses one more group.
    AppendRound(*log, 'q', false, &stored);
    for (char text = 'r'; text < 't'; ++text) {
      ASSERT_NO_FATAL_FAILURE(AppendRound(*log, text, true, &stored));
    }
    Close(std::move(log));
    EXPECT_TRUE(ReadFrom(0) == stored);
    log = Open(options);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
    EXPECT_EQ(log->next_seq(), stored.size());
    Close(std::move(log));
  }

 private:
  // A batch with a frame that is longer than a mapped window, a write, and an append at `sync`.
  void AppendRound(Log& log, char text, bool must_succeed, std::vector<std::string>* stored) {
    const size_t longest =
        log.options().max_record_bytes < 30000 ? log.options().max_record_bytes : size_t{30000};
    const auto note = [&](const Result<uint64_t>& first, const std::vector<std::string>& payloads) {
      if (first.ok()) {
        EXPECT_EQ(*first, stored->size());
        stored->insert(stored->end(), payloads.begin(), payloads.end());
        return;
      }
      const Status& status = first.status();
      EXPECT_TRUE(status.may_be_repeated()) << status.message();
      ASSERT_FALSE(must_succeed) << status.message();
    };
    const std::vector<std::string> batch = {std::string(5000, text), std::string(longest, text),
                                            std::string(9000, text)};
    std::vector<PayloadParts> bytes;
    for (const std::string& payload : batch) bytes.push_back(AsBytes(payload));
    note(log.WriteBatch(bytes.data(), bytes.size()), batch);
    log.Harvest();
    const std::string one(100, text);
    note(log.Write(AsBytes(one)), {one});
    log.Harvest();
    note(log.AppendSync(AsBytes(one), Level::kSync), {one});
    Settle(log);
  }

  Status Observe(const ObservedCall& call) {
    if (call.call == "allocate" && (is_full_ || --allocations_left_ <= 0)) {
      is_full_ = true;
      return Status::System("fallocate", ENOSPC, call.name);
    }
    if (!is_full_ || call.call != companion_->call) return Status::Ok();
    if (call.name.find(".seg") == std::string::npos &&
        call.name.find("spare-") == std::string::npos) {
      return Status::Ok();
    }
    if (companion_calls_++ % companion_->every != companion_->every - 1) return Status::Ok();
    if (companion_->partial) WriteHalf(call);
    return Status::System(companion_->call, companion_->sys_errno, call.name);
  }
  // A spare that has become a segment is the newest one while it is written.
  void WriteHalf(const ObservedCall& call) {
    const auto directory = DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    ASSERT_TRUE(directory.ok());
    auto file = (*directory)->Open(call.name, OpenMode::kReadWrite);
    if (!file.ok()) {
      const Result<LogFiles> files = ListLogFiles(**directory);
      ASSERT_TRUE(files.ok());
      file = (*directory)->Open(SegmentName(files->segments.back()), OpenMode::kReadWrite);
    }
    ASSERT_TRUE(file.ok());
    const std::string half(static_cast<size_t>(call.length / 2), '#');
    ASSERT_TRUE((*file)->WriteAt(call.offset, half.data(), half.size()).ok());
  }

  ObservedFileSystem files_;
  std::atomic<int> allocations_left_{INT32_MAX};
  std::atomic<bool> is_full_{false};
  std::atomic<int> companion_calls_{0};
  const Companion* companion_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Strategies, SpaceFaultsTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

TEST_P(SpaceFaultsTest, ALogWorksAgainOnceThereIsSpace) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  for (const uint64_t segment_bytes : {64u << 10, 256u << 10, 1u << 20, 64u << 20}) {
    for (const Companion& companion : kCompanions) {
      // Beyond the third, the calls of a small segment repeat; a large one has no more.
      const int most = segment_bytes > (256u << 10) ? 2 : 3;
      for (int nth = 1; nth <= most; ++nth) {
        SCOPED_TRACE(testing::Message()
                     << segment_bytes << " bytes, allocation " << nth << ", " << companion.name);
        ASSERT_NO_FATAL_FAILURE(Run(segment_bytes, nth, companion));
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace durlog
