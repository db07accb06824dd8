#include "write/recover_folder.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "cursor/cursor_file.h"
#include "cursor/cut_list.h"
#include "recovery/apply.h"
#include "recovery/log_files.h"
#include "recovery/shared_session.h"

namespace durlog {
namespace {

Status RemoveSpares(Directory& directory, const LogFiles& files) {
  for (const std::string& spare : files.spares) {
    DURLOG_RETURN_IF_ERROR(directory.Remove(spare));
  }
  return Status::Ok();
}

// A version 4 UUID of RFC 9562: random bits, with that document's variant.
LogUuid MakeUuid(FileSystem& file_system) {
  LogUuid uuid;
  for (size_t i = 0; i < uuid.size(); i += 8) Store64(uuid.data() + i, file_system.Random64());
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

// A failed writeback may have lost records that were only in memory and that a cursor has passed.
// If the list already holds a cut for the cursor that was as deep, the cursor will find that one.
// Every slot counts: the cursor's next open may find that the device does not hold the newest one.
Status RecordLostRecords(FileSystem& file_system, Directory& directory, const LogOfCursors& log,
                         uint64_t next_seq) {
  const BootId boot = file_system.CurrentBoot();
  DURLOG_ASSIGN_OR_RETURN(const std::vector<CursorPlace> places,
                          ListCursorPlaces(directory, boot, log));
  for (const CursorPlace& place : places) {
    for (const CursorSlot& slot : place.slots) {
      if (slot.uuid != log.uuid || PositionIn(boot, slot, log.first_seq) <= next_seq) continue;
      DURLOG_ASSIGN_OR_RETURN(const CutList cuts, ReadCuts(directory, log.uuid));
      const std::optional<uint64_t> lowest = cuts.LowestSince(slot.generation);
      if (!lowest || *lowest > next_seq) return RecordCut(directory, log.uuid, next_seq).status();
    }
  }
  return Status::Ok();
}

}  // namespace

Status RecoverFolder(FileSystem& file_system, Directory& directory,
                     const Capabilities& capabilities, const LogOptions& options,
                     LivePageWriter* live, RecoveredFolder* folder) {
  DURLOG_RETURN_IF_ERROR(EndSharedSession(directory));
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(directory));
  if (files.segments.empty()) {
    DURLOG_RETURN_IF_ERROR(RemoveSpares(directory, files));
    const RestoredIdentity& restored = options.restored;
    folder->uuid = restored.uuid == LogUuid{} ? MakeUuid(file_system) : restored.uuid;
    folder->next_seq = restored.first_seq;
    folder->end_stated = true;
    if (restored.generation != 0) {
      DURLOG_RETURN_IF_ERROR(StartGeneration(directory, folder->uuid, restored.generation));
    }
    live->Attach(file_system, directory, capabilities, folder->uuid);
    return Status::Ok();
  }
  DURLOG_ASSIGN_OR_RETURN(RecoveryPlan plan,
                          PlanRecovery(directory, std::move(files), OpenMode::kReadWrite,
                                       ScanExtent::kUnsyncedEnd, Evidence::kDevice));
  folder->report = plan.report;
  folder->uuid = plan.identity.uuid;
  const bool corrupt = plan.report.state == RecoveryState::kCorrupt;
  if (corrupt && !options.salvage) return CorruptError(directory, plan.report);
  if (plan.next_seq > kMaxSeq) {
    return Status::Error(Code::kOutOfRange, "the log's seqs are used up")
        .WithPath(directory.path());
  }
  // Done only after it is known that the log can be opened, because a failed open changes nothing.
  DURLOG_RETURN_IF_ERROR(RemoveSpares(directory, plan.files));
  if (folder->uuid == LogUuid{}) folder->uuid = MakeUuid(file_system);  // no header could be read
  live->Attach(file_system, directory, capabilities, folder->uuid);
  DURLOG_RETURN_IF_ERROR(SyncCuts(directory));
  DURLOG_RETURN_IF_ERROR(RecordLostRecords(
      file_system, directory, {folder->uuid, plan.files.segments.front()}, plan.next_seq));
  const bool cuts = !plan.cuts.empty();
  live->BeginRecovery(plan.next_seq, cuts);
  DURLOG_RETURN_IF_ERROR(ApplyRecovery(directory, capabilities, &plan));
  // The cuts are announced again, because a reader may have opened a segment before its removal.
  if (cuts) live->Cut(plan.next_seq);
  DURLOG_RETURN_IF_ERROR(FinishCuts(directory));
  folder->segments = std::move(plan.files.segments);
  folder->next_seq = plan.next_seq;
  // Salvage never overwrites damaged bytes: appends go into a new segment after them, or into an
  // empty one that an earlier salvage made.
  ScannedSegment& last = plan.scanned.back();
  if (corrupt && !(last.empty() && last.first_seq == plan.next_seq)) return Status::Ok();
  folder->end_stated = plan.synced_end >= plan.next_seq;
  folder->last = std::move(last);
  return Status::Ok();
}

}  // namespace durlog
