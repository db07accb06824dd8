#include "shared/shared_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "held_executor.h"
#include "live/live_page_reader.h"
#include "observed_file_system.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"
#include "shared/steps.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

using SharedLogTest = SharedTestFolder;

TEST_F(SharedLogTest, OneMemberIsALogLikeAnyOther) {
  std::unique_ptr<SharedLog> log = OpenMember();
  ASSERT_NE(log, nullptr);
  for (uint64_t seq = 0; seq < 300; ++seq) EXPECT_EQ(Write(*log, PayloadOf(seq)), seq);
  EXPECT_EQ(log->ReachedEnd(Level::kMemory), 300u);
  ASSERT_TRUE(log->Sync(Level::kSync).ok());
  EXPECT_EQ(log->ReachedEnd(Level::kSync), 300u);
  ExpectRecords(0, 300);
  ExpectClean();
  Leave(std::move(log));
  ExpectClean();
}

TEST_F(SharedLogTest, ASyncThatFindsAnotherLockIsNotAcknowledged) {
  for (const bool replaced : {false, true}) {
    std::unique_ptr<SharedLog> log = OpenMember();
    ASSERT_NE(log, nullptr);
    const uint64_t seq = Write(*log, "x");
    const std::filesystem::path lock = PathOf("log") + "/" + kLockName;
    std::filesystem::rename(lock, PathOf("lock"));
    if (replaced) std::filesystem::copy_file(PathOf("lock"), lock);
    EXPECT_EQ(log->Sync(Level::kSync).code(), Code::kFileChanged);
    EXPECT_LE(log->ReachedEnd(Level::kSync), seq);
    log.reset();
    std::filesystem::rename(PathOf("lock"), lock);
  }
}

TEST_F(SharedLogTest, MembersAppendInOneOrderWithOneSequence) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first->slot(), second->slot());
  EXPECT_EQ(first->CountMembers(), 2u);
  for (uint64_t seq = 0; seq < 600; ++seq) {
    EXPECT_EQ(Write(seq % 3 == 0 ? *first : *second, PayloadOf(seq)), seq);
  }
  EXPECT_GT(listener_.rotated.size(), 2u);
  ExpectRecords(0, 600);
  Leave(std::move(first));
  EXPECT_EQ(Write(*second, PayloadOf(600)), 600u);
  Leave(std::move(second));
  ExpectRecords(0, 601);
  ExpectClean();
}

TEST_F(SharedLogTest, ABatchTakesConsecutiveSeqsWhoeverAppendsBesides) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  uint64_t seq = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> texts;
    std::vector<PayloadParts> payloads;
    for (uint64_t i = 0; i < 5; ++i) texts.push_back(PayloadOf(seq + i));
    for (const std::string& text : texts) payloads.push_back(AsBytes(text));
    const Result<uint64_t> begun = first->WriteBatch(payloads.data(), payloads.size());
    ASSERT_TRUE(begun.ok()) << begun.status().message();
    EXPECT_EQ(*begun, seq);
    seq += 5;
    EXPECT_EQ(Write(*second, PayloadOf(seq)), seq);
    ++seq;
  }
  ExpectRecords(0, seq);
  ExpectClean();
}

TEST_F(SharedLogTest, ThreadsLoseNothingDoubleNothingAndKeepTheirOwnOrder) {
  constexpr int kMembers = 4;
  constexpr uint64_t kEach = 5000;
  std::vector<std::vector<uint64_t>> seqs(kMembers);
  std::vector<std::thread> threads;
  for (int member = 0; member < kMembers; ++member) {
    threads.emplace_back([this, member, &seqs] {
      InlineExecutor executor;
      RecordingListener listener;
      Result<std::unique_ptr<SharedLog>> log =
          SharedLog::Open(DefaultFileSystem(), PathOf("log"), Small());
      ASSERT_TRUE(log.ok()) << log.status().message();
      (*log)->Attach(&executor, &listener);
      for (uint64_t i = 0; i < kEach; ++i) {
        const std::string text = std::to_string(member) + ":" + std::to_string(i);
        const Result<uint64_t> seq = i % 50 == 0 ? (*log)->AppendSync(AsBytes(text), Level::kSync)
                                                 : (*log)->Write(AsBytes(text));
        ASSERT_TRUE(seq.ok()) << seq.status().message();
        ASSERT_GT((*log)->ReachedEnd(Level::kMemory), *seq);
        seqs[static_cast<size_t>(member)].push_back(*seq);
      }
      Leave(std::move(*log));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<uint64_t, std::string> expected;
  for (int member = 0; member < kMembers; ++member) {
    for (uint64_t i = 0; i < kEach; ++i) {
      expected[seqs[static_cast<size_t>(member)][i]] =
          std::to_string(member) + ":" + std::to_string(i);
    }
  }
  ASSERT_EQ(expected.size(), kMembers * kEach);
  EXPECT_EQ(expected.rbegin()->first, kMembers * kEach - 1);
  const auto records = ReadAll();
  ASSERT_EQ(records.size(), expected.size());
  for (const auto& [seq, text] : records) EXPECT_EQ(expected[seq], text);
  ExpectClean();
}

TEST_F(SharedLogTest, AWriterAloneAndSeveralRefuseEachOther) {
  std::unique_ptr<SharedLog> shared = OpenMember();
  const Status alone = Log::Open(DefaultFileSystem(), PathOf("log"), Small()).TakeStatus();
  EXPECT_EQ(alone.code(), Code::kLocked);
  EXPECT_NE(alone.message().find("shared mode"), std::string::npos);
  EXPECT_GT(alone.owner_pid(), 0);
  Leave(std::move(shared));
  std::unique_ptr<Log> log = Open(Small());
  ASSERT_NE(log, nullptr);
  const Status refused = TryOpen().TakeStatus();
  EXPECT_EQ(refused.code(), Code::kLocked);
  EXPECT_NE(refused.message().find("alone"), std::string::npos);
  EXPECT_GT(refused.owner_pid(), 0);
}

TEST_F(SharedLogTest, ALogGoesFromOneWriterToSeveralAndBack) {
  uint64_t seq = 0;
  for (int round = 0; round < 4; ++round) {
    std::unique_ptr<Log> alone = Open(Small());
    ASSERT_NE(alone, nullptr);
    EXPECT_EQ(alone->recovery().state, RecoveryState::kClean);
    for (int i = 0; i < 30; ++i, ++seq) {
      ASSERT_TRUE(alone->AppendSync(AsBytes(PayloadOf(seq)), Level::kSync).ok());
    }
    Close(std::move(alone));
    std::unique_ptr<SharedLog> shared = OpenMember();
    ASSERT_NE(shared, nullptr);
    EXPECT_EQ(shared->recovery().state, RecoveryState::kClean);
    for (int i = 0; i < 30; ++i, ++seq) EXPECT_EQ(Write(*shared, PayloadOf(seq)), seq);
    Leave(std::move(shared));
  }
  ExpectRecords(0, seq);
  ExpectClean();
}

TEST_F(SharedLogTest, AnEmptyLogOfOneWriterIsTakenOver) {
  Close(Open(Small()));
  std::unique_ptr<SharedLog> shared = OpenMember();
  EXPECT_EQ(Write(*shared, PayloadOf(0)), 0u);
  Leave(std::move(shared));
  ExpectRecords(0, 1);
}

TEST_F(SharedLogTest, OpeningAndClosingAddsNothing) {
  Leave(OpenMember());
  const uint64_t bytes = ReadAll().size();
  for (int i = 0; i < 10; ++i) Leave(OpenMember());
  EXPECT_EQ(ReadAll().size(), bytes);
  std::unique_ptr<SharedLog> log = OpenMember();
  const std::string longest(32 << 10, 'x');
  EXPECT_EQ(Write(*log, longest), 0u);
}

TEST_F(SharedLogTest, WhoJoinsIsToldTheSegmentSizeThatIsInForce) {
  std::unique_ptr<SharedLog> first = OpenMember();
  LogOptions other = Small();
  other.segment_bytes = 1 << 20;
  other.max_record_bytes = 512 << 10;
  std::unique_ptr<SharedLog> second = OpenMember(other);
  EXPECT_EQ(second->Stats().segment_bytes, Small().segment_bytes);
  const std::string long_text(100 << 10, 'x');
  EXPECT_EQ(second->Write(AsBytes(long_text)).status().code(), Code::kRecordTooLarge);
}

TEST_F(SharedLogTest, AnAppendThatExpectsAnotherSeqAppendsNothing) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  const auto append = [](SharedLog& log, uint64_t seq) {
    return log.Append(AsBytes(PayloadOf(seq)), Level::kMemory, SharedLog::kClockTime, seq);
  };
  EXPECT_TRUE(append(*first, 0).ok());
  EXPECT_EQ(append(*second, 0).status().code(), Code::kSeqConflict);
  EXPECT_EQ(second->next_seq(), 1u);
  EXPECT_TRUE(append(*second, 1).ok());
  ExpectRecords(0, 2);
}

TEST_F(SharedLogTest, ASyncByOneMemberCoversTheOthers) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  Write(*first, PayloadOf(0));
  Write(*second, PayloadOf(1));
  ASSERT_TRUE(second->Sync(Level::kSync).ok());
  first->Look();
  EXPECT_EQ(first->ReachedEnd(Level::kSync), 2u);
  EXPECT_EQ(first->next_seq(), 2u);
}

TEST_F(SharedLogTest, ALargeGroupsSyncWaitsBehindTheOneThatRuns) {
  LogOptions options = Small();
  options.eager_bytes = 900;
  ObservedFileSystem observed([](const ObservedCall&) { return Status::Ok(); });
  // No check of the files becomes due, which would be one more job.
  observed.stopped_at_micros = DefaultFileSystem().MonotonicMicros();
  HeldExecutor held;
  Result<std::unique_ptr<SharedLog>> opened = SharedLog::Open(observed, PathOf("log"), options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::unique_ptr<SharedLog> log = std::move(*opened);
  log->Attach(&held, &listener_);
  const auto append = [&log](int records) {
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(log->Append(AsBytes(std::string(300, 'x')), Level::kSync).ok());
    }
  };
  append(1);
  log->Pump();
  const size_t first = held.held();  // includes the job that populates the map
  append(2);
  log->Pump();
  EXPECT_EQ(held.held(), first);
  append(1);
  log->Pump();
  EXPECT_EQ(held.held(), first + 1);
  append(5);
  log->Pump();
  EXPECT_EQ(held.held(), first + 1);
  EXPECT_EQ(log->ReachedEnd(Level::kSync), 0u);
  held.RunAll();
  log->Harvest();
  EXPECT_EQ(log->ReachedEnd(Level::kSync), 9u);
  EXPECT_TRUE(log->idle());
}

TEST_F(SharedLogTest, TheSyncOfALargeGroupBeginsBeforeTheEndOfTheTurn) {
  LogOptions options = Small();
  options.eager_bytes = 900;
  HeldExecutor held;
  std::unique_ptr<SharedLog> log = OpenMember(options);
  log->Attach(&held, &listener_);
  const auto synced_after = [&](int records) {
    for (int i = 0; i < records; ++i) {
      EXPECT_TRUE(log->Append(AsBytes(std::string(300, 'x')), Level::kSync).ok());
    }
    held.RunAll();
    log->Harvest();
    return log->ReachedEnd(Level::kSync);
  };
  EXPECT_EQ(synced_after(2), 0u);
  // The last append begins the sync of those before it.
  EXPECT_GE(synced_after(2), 3u);
}

TEST_F(SharedLogTest, ASyncThatEndsAfterTheLogHasLatchedRaisesNoEnd) {
  ObservedFileSystem failing([](const ObservedCall& call) {
    return call.call == "start-writeback" ? Status::System("sync_file_range", EIO, call.name)
                                          : Status::Ok();
  });
  std::unique_ptr<SharedLog> other;
  ObservedFileSystem observed([&other](const ObservedCall& call) {
    if (call.call != "sync-map" || !other) return Status::Ok();
    // Another member latches the log during this sync.
    const std::unique_ptr<SharedLog> fails = std::exchange(other, nullptr);
    EXPECT_FALSE(fails->AppendSync(AsBytes("b"), Level::kAsync).ok());
    return Status::Ok();
  });
  Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(observed, PathOf("log"), Small());
  ASSERT_TRUE(log.ok()) << log.status().message();
  Result<std::unique_ptr<SharedLog>> joined = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  (*log)->Attach(&inline_, &listener_);
  (*joined)->Attach(&inline_, &listener_);
  Result<std::unique_ptr<LivePageReader>> reader =
      LivePageReader::Open(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(reader.ok());
  other = std::move(*joined);
  EXPECT_FALSE((*log)->AppendSync(AsBytes("a"), Level::kSync).ok());
  EXPECT_EQ(other, nullptr);
  EXPECT_TRUE((*log)->latched());
  EXPECT_EQ((*log)->ReachedEnd(Level::kSync), 0u);
  const std::optional<LiveView> view = (*reader)->Look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->synced_end, 0u);
}

TEST_F(SharedLogTest, ASyncDropsThePagesOfTheMapThatItSyncs) {
  std::vector<std::pair<uint64_t, uint64_t>> dropped;
  ObservedFileSystem observed([&dropped](const ObservedCall& call) {
    if (call.call == "drop-pages") dropped.emplace_back(call.offset, call.offset + call.length);
    return Status::Ok();
  });
  Result<std::unique_ptr<SharedLog>> opened = SharedLog::Open(observed, PathOf("log"), Small());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  SharedLog& log = **opened;
  log.Attach(&inline_, &listener_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(log.AppendSync(AsBytes(std::string(9000, 'x')), Level::kSync).ok());
  }
  ASSERT_EQ(dropped.size(), 2u);
  EXPECT_EQ(dropped[0].first, 0u);
  EXPECT_GT(dropped[0].second, 9000u);
  EXPECT_EQ(dropped[1].first, dropped[0].second);
  EXPECT_GT(dropped[1].second, 18000u);
  Leave(std::move(*opened));
}

TEST_F(SharedLogTest, AsyncIsReachedOnceWritebackOfAllBeforeItHasBegunAndWaitsForNoSync) {
  std::vector<std::string> begun;
  ObservedFileSystem observed([&begun](const ObservedCall& call) {
    if (call.call == "start-writeback") begun.push_back(call.name);
    const bool syncs = call.call == "sync-map" || call.call == "sync-full";
    EXPECT_FALSE(syncs && call.name.find(".seg") != std::string::npos) << call.call;
    return Status::Ok();
  });
  std::unique_ptr<SharedLog> other = OpenMember();
  Result<std::unique_ptr<SharedLog>> opened = SharedLog::Open(observed, PathOf("log"), Small());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  SharedLog& log = **opened;
  log.Attach(&inline_, &listener_);
  // Another member fills three segments.
  while (listener_.rotated.size() < 2) Write(*other, PayloadOf(900));
  const Result<uint64_t> seq = log.AppendSync(AsBytes(PayloadOf(0)), Level::kAsync);
  ASSERT_TRUE(seq.ok()) << seq.status().message();
  EXPECT_EQ(begun.size(), 3u);
  EXPECT_EQ(log.ReachedEnd(Level::kAsync), *seq + 1);
  EXPECT_EQ(log.ReachedEnd(Level::kSync), 0u);
  // Writeback that one member has started counts for all members, and starts once per segment.
  other->Look();
  EXPECT_EQ(other->ReachedEnd(Level::kAsync), *seq + 1);
  begun.clear();
  ASSERT_TRUE(log.Append(AsBytes(PayloadOf(1)), Level::kAsync).ok());
  log.Pump();
  log.Harvest();
  EXPECT_EQ(log.ReachedEnd(Level::kAsync), *seq + 2);
  EXPECT_EQ(begun.size(), 1u);
}

TEST_F(SharedLogTest, WhatIsSyncedHasReachedAsyncToo) {
  std::unique_ptr<SharedLog> log = OpenMember();
  EXPECT_TRUE(log->AppendSync(AsBytes(PayloadOf(0)), Level::kSync).ok());
  EXPECT_EQ(log->ReachedEnd(Level::kAsync), 1u);
  Leave(std::move(log));
  log = OpenMember();
  EXPECT_EQ(log->ReachedEnd(Level::kAsync), 1u);
}

TEST_F(SharedLogTest, WritebackThatCannotBeginLatchesEveryMember) {
  ObservedFileSystem failing([](const ObservedCall& call) {
    return call.call == "start-writeback" ? Status::System("sync_file_range", EIO, call.name)
                                          : Status::Ok();
  });
  Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(log.ok()) << log.status().message();
  RecordingListener listener;
  (*log)->Attach(&inline_, &listener);
  std::unique_ptr<SharedLog> other = OpenMember();
  EXPECT_EQ((*log)->AppendSync(AsBytes(PayloadOf(0)), Level::kAsync).status().code(),
            Code::kSyncFailed);
  EXPECT_EQ(other->Write(AsBytes(PayloadOf(1))).status().code(), Code::kLatched);
}

TEST_F(SharedLogTest, WhatOthersReachForAMemberIsToldToItByTheEndOfAJob) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  ASSERT_TRUE(first->Append(AsBytes(PayloadOf(0)), Level::kSync).ok());
  ASSERT_TRUE(second->Sync(Level::kSync).ok());
  second->Look();
  ASSERT_TRUE(second->Sync(Level::kSync).ok());
  // A waiting caller looks before this, and again when a job has ended.
  first->Harvest();
  EXPECT_EQ(first->ReachedEnd(Level::kSync), 0u);
  EXPECT_FALSE(first->idle());
  first->Pump();
  first->Harvest();
  EXPECT_EQ(first->ReachedEnd(Level::kSync), 1u);
  EXPECT_TRUE(first->idle());
}

TEST_F(SharedLogTest, ATrimRemovesWholeSegmentsForAllMembers) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  for (uint64_t seq = 0; seq < 600; ++seq) Write(*first, PayloadOf(seq));
  ASSERT_TRUE(first->Sync(Level::kSync).ok());
  const std::shared_ptr<SharedTrimJob> trim = first->BeginTrim(400);
  trim->Await();
  ASSERT_TRUE(trim->status().ok()) << trim->status().message();
  EXPECT_GT(first->first_seq(), 200u);
  EXPECT_LE(first->first_seq(), 400u);
  EXPECT_EQ(second->first_seq(), first->first_seq());
  // This member was idle meanwhile, in a segment that has been removed.
  EXPECT_EQ(Write(*second, PayloadOf(600)), 600u);
  ExpectRecords(first->first_seq(), 601);
}

TEST_F(SharedLogTest, ATrimSyncsWhatItIsToRemove) {
  std::unique_ptr<SharedLog> first = OpenMember();
  std::unique_ptr<SharedLog> second = OpenMember();
  while (listener_.rotated.size() < 3) Write(*first, PayloadOf(900));
  for (const uint64_t end : listener_.rotated) {
    const std::shared_ptr<SharedTrimJob> trim = second->BeginTrim(end);
    trim->Await();
    ASSERT_TRUE(trim->status().ok()) << trim->status().message();
    EXPECT_EQ(second->first_seq(), end);
  }
}

TEST_F(SharedLogTest, ATrimOfALogWhoseFilesWereRemovedFailsAndRemovesNothing) {
  const std::unique_ptr<SharedLog> log = OpenMember();
  for (int i = 0; log->Stats().rotations < 2; ++i) Write(*log, PayloadOf(static_cast<uint64_t>(i)));
  ASSERT_TRUE(log->Sync(Level::kSync).ok());
  const std::unique_ptr<Directory> folder = OpenFolder();
  Result<LogFiles> files = ListLogFiles(*folder);
  ASSERT_TRUE(files.ok());
  while (!files->segments.empty()) {
    ASSERT_TRUE(folder->Remove(SegmentName(files->segments.back())).ok());
    files->segments.pop_back();
    const std::shared_ptr<SharedTrimJob> trim = log->BeginTrim(log->next_seq());
    trim->RunOnce();
    EXPECT_EQ(trim->status().code(), Code::kIo);
    EXPECT_EQ(ListLogFiles(*folder)->segments, files->segments);
  }
}

TEST_F(SharedLogTest, AFailedSyncLatchesEveryMemberBeforeAnybodyIsAcknowledged) {
  bool fails = false;
  ObservedFileSystem failing([&fails](const ObservedCall& call) {
    if (!fails || call.call != "sync-map") return Status::Ok();
    return Status::System("msync", EIO, call.name);
  });
  Result<std::unique_ptr<SharedLog>> first = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(first.ok()) << first.status().message();
  RecordingListener listener;
  (*first)->Attach(&inline_, &listener);
  std::unique_ptr<SharedLog> second = OpenMember();
  Write(**first, PayloadOf(0));
  Write(*second, PayloadOf(1));
  fails = true;
  EXPECT_FALSE((*first)->AppendSync(AsBytes(PayloadOf(2)), Level::kSync).ok());
  EXPECT_TRUE((*first)->latched());
  EXPECT_EQ(second->AppendSync(AsBytes(PayloadOf(3)), Level::kSync).status().code(),
            Code::kLatched);
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0].code, Code::kSyncFailed);
  EXPECT_TRUE(listener_.failures[0].latched);
  EXPECT_EQ(second->ReachedEnd(Level::kSync), 0u);
  EXPECT_EQ(TryOpen().status().code(), Code::kLatched);
  first->reset();
  second.reset();
  std::unique_ptr<SharedLog> again = OpenMember();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(Write(*again, PayloadOf(9)), 3u);
}

TEST_F(SharedLogTest, AFailedSyncOfTheFolderInATrimLatchesEveryMember) {
  bool fails = false;
  ObservedFileSystem failing([&fails](const ObservedCall& call) {
    const bool syncs = call.call == "sync-directory";
    return fails && syncs ? Status::System("fsync", EIO, "folder") : Status::Ok();
  });
  std::unique_ptr<SharedLog> second = OpenMember();
  Result<std::unique_ptr<SharedLog>> first = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(first.ok()) << first.status().message();
  RecordingListener listener;
  (*first)->Attach(&inline_, &listener);
  while (listener_.rotated.empty()) Write(*second, PayloadOf(900));
  ASSERT_TRUE(second->Sync(Level::kSync).ok());
  fails = true;
  const std::shared_ptr<SharedTrimJob> trim = (*first)->BeginTrim(second->next_seq());
  trim->Await();
  EXPECT_EQ((*first)->FinishTrim(*trim).code(), Code::kSyncFailed);
  EXPECT_TRUE((*first)->latched());
  EXPECT_EQ(second->AppendSync(AsBytes(PayloadOf(3)), Level::kSync).status().code(),
            Code::kLatched);
}

TEST_F(SharedLogTest, AnOpenThatCannotPopulateThePageOfTheMembersIsRefused) {
  bool fails = true;
  ObservedFileSystem failing([&fails](const ObservedCall& call) {
    const bool populates = call.call == "populate" && call.name == kSharedName;
    return fails && populates ? Status::System("madvise", ENOMEM, call.name) : Status::Ok();
  });
  const auto open = [&] { return SharedLog::Open(failing, PathOf("log"), Small()); };
  EXPECT_EQ(open().status().code(), Code::kOutOfMemory);
  std::unique_ptr<SharedLog> member = OpenMember();
  EXPECT_EQ(open().status().code(), Code::kOutOfMemory);
  fails = false;
  EXPECT_TRUE(open().ok());
}

TEST_F(SharedLogTest, ASyncThatFailsForLackOfMemoryLatchesEveryMember) {
  for (const Level level : {Level::kAsync, Level::kSync, Level::kFull}) {
    bool fails = false;
    ObservedFileSystem failing([&fails](const ObservedCall& call) {
      const bool syncs = call.call == "start-writeback" || call.call == "sync-map" ||
                         call.call == "sync-full" || call.call == "sync-directory";
      return fails && syncs ? Status::System("sync", ENOMEM, call.name) : Status::Ok();
    });
    Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(failing, PathOf("log"), Small());
    ASSERT_TRUE(log.ok()) << log.status().message();
    (*log)->Attach(&inline_, &listener_);
    std::unique_ptr<SharedLog> other = OpenMember();
    Write(**log, PayloadOf(0));
    fails = true;
    const Status failed = (*log)->Sync(level);
    EXPECT_EQ(failed.code(), Code::kSyncFailed);
    EXPECT_EQ(failed.sys_errno(), ENOMEM) << failed.message();
    fails = false;
    EXPECT_EQ((*log)->Sync(level).code(), Code::kLatched);
    EXPECT_EQ(other->Write(AsBytes(PayloadOf(1))).status().code(), Code::kLatched);
  }
}

TEST_F(SharedLogTest, ASyncCoversTheRecordsThatOtherMembersHaveAppended) {
  std::unique_ptr<SharedLog> one = OpenMember();
  std::unique_ptr<SharedLog> other = OpenMember();
  Write(*one, PayloadOf(0));
  ASSERT_TRUE(other->Sync(Level::kSync).ok());
  EXPECT_EQ(other->ReachedEnd(Level::kSync), 1u);
}

TEST_F(SharedLogTest, ACheckOfTheDeviceThatLacksADescriptorCanBeRepeated) {
  const Result<Capabilities> can = folder_->Probe();
  if (can.ok() && !can->direct_io) GTEST_SKIP() << "there is no direct I/O on this file system";
  bool fails = false;
  ObservedFileSystem failing([&fails](const ObservedCall& call) {
    return fails && call.call == "open" ? Status::System("openat", EMFILE, call.name)
                                        : Status::Ok();
  });
  std::unique_ptr<SharedLog> early = OpenMember();
  Write(*early, PayloadOf(0));
  Result<std::unique_ptr<SharedLog>> late = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(late.ok()) << late.status().message();
  (*late)->Attach(&inline_, &listener_);
  fails = true;
  EXPECT_EQ((*late)->Sync(Level::kSync).code(), Code::kTooManyFiles);
  const Status append = (*late)->AppendSync(AsBytes(PayloadOf(1)), Level::kSync).status();
  EXPECT_EQ(append.code(), Code::kTooManyFiles);
  EXPECT_TRUE(append.stored());
  fails = false;
  EXPECT_TRUE((*late)->Sync(Level::kSync).ok());
  EXPECT_FALSE((*late)->latched());
  EXPECT_TRUE(early->Sync(Level::kSync).ok());
}

TEST_F(SharedLogTest, AnAppendIsRejectedOnceIfTheCheckOfItsDeviceLacksADescriptor) {
  const Result<Capabilities> can = folder_->Probe();
  if (can.ok() && !can->direct_io) GTEST_SKIP() << "there is no direct I/O on this file system";
  bool fails = false;
  int syncs = 0;
  ObservedFileSystem failing([&](const ObservedCall& call) {
    if (call.call == "sync-map") ++syncs;
    return fails && call.call == "open" ? Status::System("openat", EMFILE, call.name)
                                        : Status::Ok();
  });
  std::unique_ptr<SharedLog> early = OpenMember();
  Write(*early, PayloadOf(0));
  Result<std::unique_ptr<SharedLog>> late = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(late.ok()) << late.status().message();
  (*late)->Attach(&inline_, &listener_);
  fails = true;
  ASSERT_TRUE((*late)->Append(AsBytes(PayloadOf(1)), Level::kSync).ok());
  for (int turns = 0; turns < 3; ++turns) {
    (*late)->Pump();
    (*late)->Harvest();
  }
  EXPECT_EQ(syncs, 1);
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures.front().code, Code::kTooManyFiles);
  EXPECT_FALSE(listener_.failures.front().latched);
  // A close does not wait either, and reports that the records are stored and not synced.
  (*late)->PrepareClose();
  (*late)->Pump();
  (*late)->Harvest();
  EXPECT_TRUE((*late)->idle());
  EXPECT_EQ(listener_.closed_unsynced, Code::kTooManyFiles);
  late->reset();
  EXPECT_TRUE(early->Sync(Level::kSync).ok());
  ExpectRecords(0, 2);
}

TEST_F(SharedLogTest, ATrimThatLacksADescriptorCanBeRepeated) {
  bool fails = false;
  ObservedFileSystem failing([&fails](const ObservedCall& call) {
    return fails && call.call == "open" ? Status::System("openat", EMFILE, call.name)
                                        : Status::Ok();
  });
  std::unique_ptr<SharedLog> writer = OpenMember();
  while (listener_.rotated.size() < 2) Write(*writer, PayloadOf(900));
  const uint64_t end = listener_.rotated.back();
  Result<std::unique_ptr<SharedLog>> other = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(other.ok()) << other.status().message();
  (*other)->Attach(&inline_, &listener_);
  fails = true;
  const std::shared_ptr<SharedTrimJob> refused = (*other)->BeginTrim(end);
  refused->RunOnce();
  EXPECT_EQ(refused->status().code(), Code::kTooManyFiles);
  fails = false;
  const std::shared_ptr<SharedTrimJob> trim = (*other)->BeginTrim(end);
  trim->RunOnce();
  EXPECT_TRUE(trim->status().ok()) << trim->status().message();
  EXPECT_EQ(writer->first_seq(), end);
}

TEST_F(SharedLogTest, ClosingALatchedMemberLeavesItsSlotToTheNextOne) {
  bool fails = false;
  ObservedFileSystem failing([&fails](const ObservedCall& call) {
    return fails && call.call == "open" ? Status::System("openat", EIO, call.name) : Status::Ok();
  });
  std::unique_ptr<SharedLog> other = OpenMember();
  Result<std::unique_ptr<SharedLog>> latched = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(latched.ok()) << latched.status().message();
  (*latched)->Attach(&inline_, &listener_);
  const uint32_t slot = (*latched)->slot();
  Write(**latched, PayloadOf(0));
  while (listener_.rotated.empty()) Write(*other, PayloadOf(900));
  // The failure latches only this member.
  fails = true;
  EXPECT_FALSE((*latched)->Sync(Level::kSync).ok());
  EXPECT_TRUE((*latched)->latched());
  std::unique_ptr<SharedLog> next = OpenMember();
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->slot(), slot);
  latched->reset();
  EXPECT_EQ(next->CountMembers(), 2u);
}

TEST_F(SharedLogTest, ReadersLeaveALivePageThatANewMemberCannotFind) {
  std::unique_ptr<SharedLog> first = OpenMember();
  Write(*first, PayloadOf(0));
  Result<std::unique_ptr<LivePageReader>> reader =
      LivePageReader::Open(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE((*reader)->Look());
  Result<std::unique_ptr<Directory>> folder =
      DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  ASSERT_TRUE((*folder)->Remove(kLiveName).ok());
  std::unique_ptr<SharedLog> second = OpenMember();
  Write(*second, PayloadOf(1));
  // The first member has not looked at the log since, so its page does not contain the record.
  EXPECT_FALSE((*reader)->Look());
}

// Runs once, after this thread's member has published.
thread_local std::function<void()> when_published;

void DoWhenPublished(Step step) {
  if (step != Step::kPublished || !when_published) return;
  std::exchange(when_published, nullptr)();
}

TEST_F(SharedLogTest, AFailedSyncElsewhereEndsAnAppendThatWaitsForOne) {
  ObservedFileSystem failing([](const ObservedCall& call) {
    return call.call == "sync-map" ? Status::System("msync", EIO, call.name) : Status::Ok();
  });
  std::unique_ptr<SharedLog> log = OpenMember();
  Result<std::unique_ptr<SharedLog>> other = SharedLog::Open(failing, PathOf("log"), Small());
  ASSERT_TRUE(other.ok()) << other.status().message();
  (*other)->Attach(&inline_, &listener_);
  Write(**other, PayloadOf(0));
  when_published = [&other] { EXPECT_FALSE((*other)->Sync(Level::kSync).ok()); };
  step_hook_for_tests = DoWhenPublished;
  const Status failed = log->AppendSync(AsBytes(PayloadOf(1)), Level::kSync).TakeStatus();
  step_hook_for_tests = nullptr;
  EXPECT_EQ(failed.code(), Code::kSyncFailed);
  EXPECT_TRUE(log->latched());
}

TEST_F(SharedLogTest, AMemberThatOpensAsSoonAsTheLastOneHasLeftIsLetIn) {
  bool leaves = false;
  std::unique_ptr<SharedLog> next;
  ObservedFileSystem observed([&](const ObservedCall& call) {
    const bool may_join = call.call == "unlocked" && call.name == kSharedName &&
                          call.offset == static_cast<uint64_t>(PageLock::kJoin);
    if (leaves && may_join) next = OpenMember();
    return Status::Ok();
  });
  Result<std::unique_ptr<SharedLog>> last = SharedLog::Open(observed, PathOf("log"), Small());
  ASSERT_TRUE(last.ok()) << last.status().message();
  (*last)->Attach(&inline_, &listener_);
  Write(**last, PayloadOf(0));
  leaves = true;
  Leave(std::move(*last));
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(Write(*next, PayloadOf(1)), 1u);
}

// The log's lock as held by the last member while its process is ending: until a joiner has looked.
File* dying_lock = nullptr;
int looks = 0;

void LetGoOnceLookedAt(Step step) {
  if (step != Step::kJoining) return;
  if (looks++ == 0) {
    EXPECT_TRUE(*dying_lock->TryLockRange(LockKind::kExclusive, 0, 0));
  } else {
    EXPECT_TRUE(dying_lock->UnlockRange(0, 0).ok());
  }
}

TEST_F(SharedLogTest, ADyingLastMemberIsNotTakenForAWriterThatIsAlone) {
  Leave(OpenMember());
  Result<std::unique_ptr<Directory>> folder =
      DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  const Result<std::unique_ptr<File>> lock = (*folder)->Open("lock", OpenMode::kReadWrite);
  ASSERT_TRUE(lock.ok());
  dying_lock = lock->get();
  looks = 0;
  step_hook_for_tests = LetGoOnceLookedAt;
  const Result<std::unique_ptr<SharedLog>> log = TryOpen();
  step_hook_for_tests = nullptr;
  EXPECT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ(looks, 2);
}

TEST_F(SharedLogTest, APageThatWasRemovedUnderItsMembersIsNotMadeAnew) {
  std::unique_ptr<SharedLog> log = OpenMember();
  Result<std::unique_ptr<Directory>> folder =
      DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE((*folder)->Remove(kSharedName).ok());
  EXPECT_FALSE(TryOpen().ok());
  EXPECT_EQ(Write(*log, PayloadOf(0)), 0u);
}

}  // namespace
}  // namespace durlog
