// The steps that a session takes with a cursor, and the checks of the cursor after a crash.
#include <algorithm>

#include "session.h"

namespace durlog::crash {
namespace {

constexpr char kCursorFile[] = "c.cursor";

}  // namespace

// A call of the cursor may fail while calls of the disk do. The cursor is then given up: opened
// again, it is at its last commit or at the one before that.
void Session::CursorFails(const std::string& what) {
  if (!scenario_.faulty() || trail_.depth() > 0) return Fail(what);
  Note(what);
  ledger_.cursor_in_memory = ledger_.cursor_synced;
  cursor_.reset();
}

// A failed sync of the cursor's file may have dropped the page that holds its position in memory.
bool Session::CursorMayGoBack() const {
  const std::vector<Strike>& strikes = disk_->strikes();
  return std::any_of(strikes.begin(), strikes.end(), [](const Strike& strike) {
    return IsSync(strike.call) && strike.IsOf(kCursorFile);
  });
}

// The cursor never goes back further than its level allows. It is ahead of the log only if it
// reports the cut records, and it reports each truncation that was acknowledged.
void Session::OpenCursor() {
  Result<std::unique_ptr<DurableCursor>> opened = DurableCursor::Open(*disk_, kLogPath, "c");
  if (!opened.ok()) return CursorFails("the cursor does not open: " + opened.status().message());
  cursor_ = std::move(*opened);
  if (!cursor_->broken().ok()) return Fail("the cursor is damaged");
  // The open may have dropped positions that the device does not hold.
  if (CursorMayGoBack()) ledger_.cursor_in_memory = ledger_.cursor_synced;
  std::optional<uint64_t> position = cursor_->position();
  if (!position) {
    if (ledger_.cursor_synced > 0) return Fail("the cursor is gone");
    const Status placed = cursor_->Place(log_->first_seq(), log_->ReachedEnd(Level::kSync), 0);
    if (!placed.ok()) return CursorFails("the cursor cannot be made: " + placed.message());
    position = cursor_->position();
  }
  Note("the cursor is at " + std::to_string(*position));
  if (*position < ledger_.cursor_in_memory) {
    return Fail("the cursor goes back to " + std::to_string(*position) + " from " +
                std::to_string(ledger_.cursor_in_memory));
  }
  const Result<std::optional<uint64_t>> cut = cursor_->FindCut(0);
  if (!cut.ok()) return CursorFails("the cuts cannot be read: " + cut.status().message());
  if (!cut.value() && *position > log_->next_seq()) return Fail("the cursor is ahead of the log");
  if (*position > ledger_.cursor_cut && (!cut.value() || *cut.value() > ledger_.cursor_cut)) {
    return Fail("the cursor does not report the cut records");
  }
  // If the cursor is moved to before the cut, it may pass the records that now have these seqs.
  if (*position <= ledger_.cursor_cut) ledger_.cursor_cut = UINT64_MAX;
  ledger_.cursor_in_memory = *position;
}

void Session::MoveCursor() {
  if (cut_) return;  // a truncation has failed half-way
  const uint64_t synced_end = log_->ReachedEnd(Level::kSync);
  const uint64_t end = log_->ReachedEnd(Level::kMemory);
  const Result<std::optional<uint64_t>> cut = cursor_->FindCut(0);
  if (!cut.ok()) return CursorFails("the cuts cannot be read: " + cut.status().message());
  if (cut.value() || cursor_random_.OneIn(12)) {
    const uint64_t to = cursor_random_.Between(log_->first_seq(), end);
    ledger_.cursor_synced = std::min(ledger_.cursor_synced, std::min(to, synced_end));
    ledger_.cursor_in_memory = std::min(ledger_.cursor_in_memory, to);
    ledger_.cursor_cut = UINT64_MAX;
    const Result<uint64_t> generation = cursor_->NewestGeneration();
    const Status placed = cursor_->Place(to, synced_end, generation.ok() ? generation.value() : 0);
    if (!placed.ok()) return CursorFails("a seek is refused: " + placed.message());
    ledger_.cursor_synced = std::min(to, synced_end);
    ledger_.cursor_in_memory = to;
    Note("the cursor is set to " + std::to_string(to));
    return;
  }
  const uint64_t from = *cursor_->position();
  const uint64_t to = std::max(from, cursor_random_.Between(std::min(from, end), end));
  const Status committed = cursor_->Commit(to, synced_end);
  if (!committed.ok()) return CursorFails("a commit is refused: " + committed.message());
  ledger_.cursor_in_memory = to;
  Note("the cursor has passed " + std::to_string(to));
  if (!cursor_random_.OneIn(3)) return;
  Result<uint64_t> durable = cursor_->Sync(synced_end, cursor_random_.OneIn(2));
  if (!durable.ok())
    return CursorFails("a sync of the cursor is refused: " + durable.status().message());
  if (*durable < std::min(to, synced_end)) return Fail("the cursor's sync omits a record");
  ledger_.cursor_synced = *durable;
  Note("the cursor is synced at " + std::to_string(*durable));
}

}  // namespace durlog::crash
