// Joining the writers of a log, or being the first of them.
#include <algorithm>
#include <string>
#include <utility>

#include "base/yield.h"
#include "live/live_page_writer.h"
#include "record/segment_name.h"
#include "shared/shared_log.h"
#include "shared/steps.h"
#include "write/recover_folder.h"

namespace durlog {
namespace {

// The time to wait for a member that joins, in stalls: it may be recovering the log.
constexpr uint64_t kJoinStalls = 10;
// How often to try again while other locks than those of members keep this process out. When a
// process dies, the system releases its locks one after the other, so that any of them may outlive
// the others for a moment.
constexpr uint64_t kEnterPauseMicros = 1000;
constexpr int kAlonePauses = 20;
constexpr int kNoMemberPauses = 1000;

Status CheckShareable(const Capabilities& capabilities, const std::string& path) {
  // Without direct I/O, a member cannot check records that were stored before it opened the
  // segment: see ReadBack.
  // tmpfs has no device, and no direct I/O before Linux 6.6.
  const bool checks_device = capabilities.direct_io || capabilities.file_system == "tmpfs";
  const char* missing = nullptr;
  if (!capabilities.overwrites_in_place)
    missing = "the file system does not overwrite in place";
  else if (!capabilities.shares_maps)
    missing = "its memory maps are not shared by all processes";
  else if (!checks_device)
    missing = "direct I/O is not possible";
  else if (!capabilities.survives_map_faults)
    missing = "a fault in a memory map ends the process";
  if (missing == nullptr) return Status::Ok();
  return Status::Error(Code::kUnsupported, "several writers cannot share a log on " +
                                               capabilities.file_system + " here, because " +
                                               missing + ": use ext4, XFS or tmpfs on Linux, " +
                                               "not under an emulator")
      .WithPath(path);
}

// Whether the members append to the recovered log's last segment. A segment without records is
// replaced if it is too short, because it could not be sealed without using a seq.
bool CanContinue(const ScannedSegment& last, uint64_t next_seq, const LogOptions& options) {
  if (last.header.version < kSharedVersion || last.header.recycled) return false;
  return last.first_seq < next_seq || last.header.segment_bytes >= options.segment_bytes;
}

enum class Entry : uint8_t { kFirst, kJoins };

// Called under PageLock::kJoin. kFirst: this process is alone, so there is no member and no other
// writer. kJoins: this process has entered, and another process is a member of the session that
// the page names. Both are known only from locks that this process has: whatever it saw before may
// have changed, as it may have been stopped in between for any time.
Result<Entry> Enter(Member& member) {
  MembersLock& lock = member.lock();
  for (int pauses = 0;; ++pauses) {
    AtStep(Step::kJoining);
    DURLOG_ASSIGN_OR_RETURN(const bool alone, lock.TryBeAlone());
    if (alone) return Entry::kFirst;
    DURLOG_ASSIGN_OR_RETURN(const bool entered, lock.TryEnter());
    if (entered) {
      DURLOG_ASSIGN_OR_RETURN(const uint64_t session, member.page().ReadSession());
      DURLOG_ASSIGN_OR_RETURN(const bool joins, lock.HasOtherMember(session));
      if (joins) return Entry::kJoins;
      lock.Leave();
    }
    if (!entered && pauses >= kAlonePauses) return lock.LockedAlone();
    if (pauses >= kNoMemberPauses) return member.page().Replaced();
    SleepMicros(kEnterPauseMicros);
  }
}

}  // namespace

SharedLog::SharedLog(std::shared_ptr<Member> member, Capabilities capabilities,
                     const LogOptions& options)
    : member_(std::move(member)),
      capabilities_(std::move(capabilities)),
      options_(options),
      point_(*member_),
      commits_(member_, options_, point_, state_),
      rotation_(member_, capabilities_, options_),
      files_(member_) {}

Result<std::unique_ptr<SharedLog>> SharedLog::Open(FileSystem& file_system, const std::string& path,
                                                   const LogOptions& options) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, options.create));
  if (!options.create) DURLOG_RETURN_IF_ERROR(FindLogFiles(*directory).TakeStatus());
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, directory->Probe());
  DURLOG_RETURN_IF_ERROR(CheckShareable(capabilities, path));
  directory->KeepDescriptors();
  const OwnerProcess process{file_system.ProcessId(), file_system.PidNamespace()};
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<MembersPage> page,
                          MembersPage::Open(*directory, process));
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<MembersLock> lock,
                          MembersLock::Open(*directory, process));
  auto member =
      std::make_shared<Member>(file_system, std::move(directory), std::move(lock), std::move(page),
                               capabilities.direct_io ? capabilities.direct_alignment : 0);
  std::unique_ptr<SharedLog> log(new SharedLog(member, capabilities, options));
  JoinLock joining(file_system, member->page());
  DURLOG_RETURN_IF_ERROR(joining.Take(options.stall_ms * kJoinStalls, path));
  DURLOG_ASSIGN_OR_RETURN(const Entry entry, Enter(*member));
  Status opened = entry == Entry::kFirst ? log->Recover() : log->Join();
  if (!opened.ok()) {
    // Before PageLock::kJoin: the next process that joins would take the lock for another writer's.
    member->LeaveLog();
    return opened;
  }
  member->lock().NameOwner();
  return log;
}

// Makes a segment for several writers. It may take the name of another segment, which may be the
// only one that states that the earlier records are synced, so it states the same.
Status SharedLog::MakeFirstSegment(uint64_t first_seq) {
  FileSystem& file_system = member_->file_system();
  Directory& directory = member_->directory();
  SpareRequest request;
  request.preallocation = Preallocation::kFallocate;
  SegmentHeader header =
      SharedHeader(file_system, uuid_, file_system.NowMs(), options_.segment_bytes);
  header.synced_end = first_seq;
  DURLOG_ASSIGN_OR_RETURN(const Spare spare, MakeSharedSpare(directory, header, request,
                                                             SpareName(file_system.Random64())));
  DURLOG_RETURN_IF_ERROR(directory.Rename(spare.name, SegmentName(first_seq)));
  return directory.Sync();
}

// Called while this process is alone.
Status SharedLog::Recover() {
  FileSystem& file_system = member_->file_system();
  LivePageWriter live;
  RecoveredFolder folder;
  DURLOG_RETURN_IF_ERROR(
      RecoverFolder(file_system, member_->directory(), capabilities_, options_, &live, &folder));
  uuid_ = folder.uuid;
  recovery_ = folder.report;
  uint64_t segment = folder.next_seq;
  uint64_t offset = kSegmentHeaderBytes;
  const bool continues = folder.last && CanContinue(*folder.last, folder.next_seq, options_);
  if (continues) {
    segment = folder.last->first_seq;
    offset = folder.last->scan.end_offset;
    DURLOG_RETURN_IF_ERROR(folder.last->file->Allocate(0, folder.last->header.segment_bytes));
    folder.last->file.reset();
  } else {
    DURLOG_RETURN_IF_ERROR(MakeFirstSegment(folder.next_seq));
  }
  AtStep(Step::kRecovered);
  MembersPage& page = member_->page();
  const uint64_t session = MembersLock::NewSession(file_system);
  DURLOG_RETURN_IF_ERROR(page.Make(uuid_, options_.segment_bytes, session));
  const uint64_t first_seq = folder.segments.empty() ? segment : folder.segments.front();
  page.Raise(PageWord::kFirstSeq, first_seq);
  page.SetTime(segment, continues ? folder.last->scan.last_time_ms : 0);
  for (const PageWord word : {PageWord::kActiveFirst, PageWord::kCommittedFirst,
                              PageWord::kSyncedFirst, PageWord::kNamesFirst}) {
    page.Raise(word, segment);
  }
  for (const PageWord word : {PageWord::kAsyncEnd, PageWord::kSyncedEnd, PageWord::kFullEnd}) {
    page.Raise(word, folder.next_seq);
  }
  if (!continues || folder.last->from_device) {
    page.Raise(PageWord::kRecoveredEnd, folder.next_seq + 1);
  }
  DURLOG_RETURN_IF_ERROR(member_->TakeSlot());
  live.StoreEnds(first_seq, folder.next_seq, folder.next_seq);
  page.Raise(PageWord::kLiveLineage, member_->live().Attach(file_system, member_->directory(), 0));
  LogPoint end;
  DURLOG_ASSIGN_OR_RETURN(end.segment, member_->SegmentAt(segment));
  end.offset = offset;
  end.seq = folder.next_seq;
  DURLOG_RETURN_IF_ERROR(StartAt(end));
  return member_->lock().BecomeMember(session);
}

Status SharedLog::StartAt(const LogPoint& point) {
  point_.Start(point);
  pages_.Enter(point, 0);
  options_.max_record_bytes = static_cast<uint32_t>(std::min<uint64_t>(
      options_.max_record_bytes, options_.segment_bytes - 2 * kSegmentHeaderBytes));
  commits_.Start(point);
  return latched() ? state_.LatchedError() : Status::Ok();
}

// Called after this process has entered. It becomes a member last, so that a process that could not
// join is no proof of the session.
Status SharedLog::Join() {
  MembersPage& page = member_->page();
  DURLOG_RETURN_IF_ERROR(page.Join());
  uuid_ = page.Uuid();
  options_.segment_bytes = page.Load(PageWord::kSegmentBytes);
  if (page.Load(PageWord::kLatched) != 0) {
    return Status::Error(Code::kLatched,
                         "a sync by another writer failed: close the log everywhere, and open it "
                         "again");
  }
  DURLOG_RETURN_IF_ERROR(member_->TakeSlot());
  AtStep(Step::kSlotTaken);
  const uint64_t lineage = page.Load(PageWord::kLiveLineage);
  if (lineage != 0) {
    static_cast<void>(
        member_->live().Attach(member_->file_system(), member_->directory(), lineage));
  }
  LogPoint point;
  DURLOG_ASSIGN_OR_RETURN(point.segment, member_->SegmentOf(PageWord::kCommittedFirst));
  point.seq = point.segment->first_seq();
  DURLOG_RETURN_IF_ERROR(StartAt(point));
  point = commits_.committed();
  // Other members cannot distinguish the reservations of a dead member that had this slot from the
  // reservations of this member.
  DURLOG_RETURN_IF_ERROR(VoidReservations(AtReserved::kVoidOwn, &point));
  commits_.Refresh();
  if (latched()) return state_.LatchedError();
  return member_->lock().BecomeMember(page.Load(PageWord::kSession));
}

// Moves `point` past all reservations.
Status SharedLog::VoidReservations(AtReserved policy, LogPoint* point) {
  LogWalk walk(*member_, policy, *point);
  DURLOG_RETURN_IF_ERROR(walk.Advance());
  *point = walk.point();
  return Status::Ok();
}

}  // namespace durlog
