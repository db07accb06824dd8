// Randomly mutated logs: `verify` and `open` must agree about each.
//
// DURLOG_MUTATIONS sets the number of rounds, DURLOG_MUTATION_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "inline_executor.h"
#include "inspect/verify.h"
#include "log/log.h"
#include "memory_file_system.h"
#include "read/position_index.h"
#include "record/segment_name.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

class DeafListener final : public LogListener {
 public:
  void OnFailure(const Status&, uint64_t, uint64_t, bool) override {}
  void OnRotated(uint64_t) override {}
};

LogOptions Options(bool salvage) {
  LogOptions options;
  options.strategy = Strategy::kPwrite;
  options.preallocation_auto = false;
  options.preallocation = Preallocation::kFallocate;
  options.segment_bytes = 16384;
  options.max_record_bytes = 8192;
  options.salvage = salvage;
  return options;
}

MemoryFolder CopyOf(const MemoryFolder& files) {
  MemoryFolder copy;
  for (const auto& [name, bytes] : files) copy[name] = std::make_shared<MemoryBytes>(*bytes);
  return copy;
}

bool SameSegments(const MemoryFolder& before, const MemoryFolder& after) {
  for (const auto& [name, bytes] : before) {
    if (!ParseSegmentName(name)) continue;
    const auto found = after.find(name);
    if (found == after.end() || *found->second != *bytes) return false;
  }
  return true;
}

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t end) { return random_() % end; }

  // Some segments of records, synced or not, closed or not.
  MemoryFolder MakeLog() {
    MemoryFileSystem disk;
    InlineExecutor executor;
    DeafListener listener;
    Result<std::unique_ptr<Log>> log = Log::Open(disk, "memory", Options(false));
    EXPECT_TRUE(log.ok());
    (*log)->Attach(&executor, &listener);
    const uint64_t records = 1 + Below(60);
    for (uint64_t i = 0; i < records; ++i) {
      const std::vector<uint8_t> payload(static_cast<size_t>(1 + Below(2500)), uint8_t{7});
      const Level level = Below(3) == 0 ? Level::kMemory : Level::kSync;
      EXPECT_TRUE((*log)->AppendSync(Bytes{payload.data(), payload.size()}, level).ok());
    }
    if (Below(2) == 0) {
      (*log)->PrepareClose();
      while (!(*log)->idle()) {
        (*log)->Pump();
        (*log)->Harvest();
      }
    }
    log = Status::Error(Code::kClosed, "closed");
    return disk.files;
  }

  std::string Mutate(MemoryFolder* files) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : *files) {
      if (ParseSegmentName(name)) names.push_back(name);
    }
    if (names.empty()) return "nothing";
    const std::string name = names[static_cast<size_t>(Below(names.size()))];
    const std::string other = names[static_cast<size_t>(Below(names.size()))];
    const uint64_t newest = *ParseSegmentName(names.back());
    const std::string elsewhere = SegmentName(Below(2) == 0 ? newest + 1 + Below(100) : Below(80));
    MemoryBytes& bytes = *(*files)[name];
    switch (Below(6)) {
      case 0: {
        const auto moved = (*files)[name];
        files->erase(name);
        (*files)[elsewhere] = moved;
        return "rename " + name + " to " + elsewhere;
      }
      case 1:
        (*files)[elsewhere] = std::make_shared<MemoryBytes>(bytes);
        return "copy " + name + " to " + elsewhere;
      case 2: std::swap((*files)[name], (*files)[other]); return "swap " + name + " and " + other;
      case 3:
        bytes.resize(static_cast<size_t>(Below(bytes.size() + 1)));
        return "truncate " + name + " to " + std::to_string(bytes.size());
      case 4: files->erase(name); return "remove " + name;
      default: {
        if (bytes.empty()) return "nothing";
        const size_t at = static_cast<size_t>(Below(bytes.size()));
        bytes[at] ^= static_cast<uint8_t>(1 + Below(255));
        return "flip " + name + " at " + std::to_string(at);
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

// The first seq that an open reads: it does not examine damage before this seq.
uint64_t FirstReadByOpen(MemoryFileSystem& disk) {
  const auto directory = disk.OpenDirectory("memory", false);
  Result<LogFiles> files = ListLogFiles(**directory);
  const Result<RecoveryPlan> plan = PlanRecovery(**directory, std::move(*files), OpenMode::kRead,
                                                 ScanExtent::kUnsyncedEnd, Evidence::kCache);
  return plan.ok() ? plan->scanned.front().first_seq : 0;
}

// Verify reports corruption and open succeeds: allowed only if the damage is in segments that open
// does not read, and everything else that verify found was cut by open or costs no record.
void ExpectDamageOutsideOfOpen(const VerifyReport& report, const RecoveryReport& recovery,
                               uint64_t first_read) {
  bool outside = false;
  for (const Problem& problem : report.problems) {
    const bool costs = problem.lost_first <= problem.lost_last || problem.offset != 0;
    const bool unread = *ParseSegmentName(problem.segment) < first_read;
    const bool cut = !recovery.segment.empty() && problem.segment >= recovery.segment;
    EXPECT_TRUE(unread || cut || !costs)
        << problem.message << " in " << problem.segment << " at " << problem.offset;
    outside = outside || unread || !costs;
  }
  EXPECT_TRUE(outside) << "an open cuts what verify calls corrupt";
}

void CheckSalvage(const MemoryFolder& files) {
  MemoryFileSystem disk;
  disk.files = CopyOf(files);
  const Result<std::unique_ptr<Log>> log = Log::Open(disk, "memory", Options(true));
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_TRUE(SameSegments(files, disk.files)) << "salvage writes over the evidence";
}

void CheckRound(const MemoryFolder& files) {
  MemoryFileSystem looked;
  looked.files = CopyOf(files);
  const Result<VerifyReport> verified = Verify(looked, "memory");
  EXPECT_TRUE(SameSegments(files, looked.files)) << "verify writes";
  MemoryFileSystem opened;
  opened.files = CopyOf(files);
  const Result<std::unique_ptr<Log>> log = Log::Open(opened, "memory", Options(false));
  if (!verified.ok()) {
    // An empty folder is no log to verify, and a new one to open.
    if (verified.status().code() != Code::kNotFound) {
      EXPECT_EQ(log.ok() ? Code::kOk : log.status().code(), verified.status().code());
    }
    return;
  }
  if (!log.ok()) {
    EXPECT_EQ(log.status().code(), Code::kCorrupt) << log.status().message();
    EXPECT_EQ(verified->state, RecoveryState::kCorrupt) << log.status().message();
    EXPECT_TRUE(SameSegments(files, opened.files)) << "a refusal writes";
    return CheckSalvage(files);
  }
  if (verified->state == RecoveryState::kCorrupt) {
    return ExpectDamageOutsideOfOpen(*verified, (*log)->recovery(), FirstReadByOpen(looked));
  }
  EXPECT_EQ((*log)->recovery().state, verified->state);
  EXPECT_EQ((*log)->next_seq(), verified->bounds.next_seq);
  EXPECT_EQ((*log)->first_seq(), verified->bounds.first_seq);
}

TEST(MutationTest, OpenAndVerifyAgreeOnEveryMutatedLog) {
  const uint64_t rounds = NumberFrom("DURLOG_MUTATIONS", 400);
  const uint64_t first = NumberFrom("DURLOG_MUTATION_SEED", 1);
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    PositionIndex::Shared().Clear();
    Mutator mutator(seed);
    MemoryFolder files = mutator.MakeLog();
    std::string what;
    for (uint64_t i = 1 + mutator.Below(3); i > 0; --i) what += "; " + mutator.Mutate(&files);
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "seed " + std::to_string(seed) + what);
    CheckRound(files);
  }
}

}  // namespace
}  // namespace durlog
