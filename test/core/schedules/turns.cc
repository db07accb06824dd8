#include "turns.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "arena.h"
#include "record/record_format.h"
#include "shared/frame_step.h"

namespace durlog::schedules {
namespace {

Turns* current = nullptr;

// The word as a member that skips reservations sees it: the word of a record.
uint64_t AsCommitted(uint64_t word) {
  const uint64_t state = uint64_t{static_cast<uint32_t>(FrameState::kCommitted)} << kStateShift;
  return (word & kLengthMask) | state;
}

bool IsReserved(uint64_t word) {
  return (static_cast<uint32_t>(word) >> kStateShift) ==
         static_cast<uint32_t>(FrameState::kReserved);
}

}  // namespace

Turns::Turns(Search* search, ModelFiles* files, const Accesses& known, Accesses* met,
             const Limits& limits, Lie lie)
    : search_(search), files_(files), known_(known), met_(met), limits_(limits), lie_(lie) {}

Turns::~Turns() { current = nullptr; }

Turns* Turns::Current() { return current; }

void Turns::Add(std::function<void()> work) {
  members_.emplace_back();
  members_.back().fiber = std::make_unique<crash::Fiber>(std::move(work));
}

RunEnd Turns::Run() {
  current = this;
  Choose();
  while (end_ == RunEnd::kNotYet) {
    running_ = next_;
    Member& member = members_[running_];
    if (member.known == 0) member.known = 1;  // it has begun
    {
      const AllocatesIn in_arena(AllocatesIn::kArena);
      member.fiber->Resume();
    }
    if (!member.fiber->done()) continue;
    member.done = true;
    running_ = kNobody;
    Choose();
  }
  current = nullptr;
  return end_;
}

// Whether a value that a waiting member has seen has changed since.
bool Turns::HasNews(const Member& member) const {
  if (member.changed_something || member.calls_seen != files_->changes()) return true;
  return std::any_of(member.seen.begin(), member.seen.end(),
                     [](const Seen& seen) { return *seen.word != seen.value; });
}

bool Turns::CanRun(const Member& member) const {
  return !member.done && !member.dead && (!member.waits || HasNews(member));
}

Choices Turns::ChoicesNow() const {
  Choices choices;
  const bool goes_on = running_ != kNobody && CanRun(members_[running_]);
  if (goes_on) choices.Add({static_cast<uint8_t>(running_), false});
  const bool is_free = !goes_on || members_[running_].waits;
  const bool switches = is_free || limits_.preemptions < 0 || preemptions_ < limits_.preemptions;
  for (size_t i = 0; i < members_.size() && switches; ++i) {
    if (i != running_ && CanRun(members_[i])) choices.Add({static_cast<uint8_t>(i), false});
  }
  for (size_t i = 0; i < members_.size() && deaths_ < limits_.deaths; ++i) {
    if (!members_[i].done && !members_[i].dead) choices.Add({static_cast<uint8_t>(i), true});
  }
  return choices;
}

uint64_t Turns::StateNow() const {
  uint64_t state = Mix(files_->hash() ^ told_) + static_cast<uint64_t>(deaths_);
  if (limits_.preemptions >= 0) {
    state = Mix(state ^ (running_ * 64 + static_cast<uint64_t>(preemptions_) + 1));
  }
  for (const Member& member : members_) {
    // The values that a finished member has seen make no difference.
    const uint64_t known = member.done ? 1 : member.dead ? 2 : Mix(member.known + member.waits);
    state = Mix(state ^ known);
  }
  return state;
}

// Chooses the next event: a member's turn, or the end of the run. Members may die first.
void Turns::Choose() {
  const AllocatesIn outside(AllocatesIn::kOutside);
  const auto is_over = [](const Member& member) { return member.done || member.dead; };
  for (;;) {
    const bool over = std::all_of(members_.begin(), members_.end(), is_over);
    const bool any_can = std::any_of(members_.begin(), members_.end(),
                                     [this](const Member& member) { return CanRun(member); });
    if (!any_can) {
      end_ = over ? RunEnd::kDone : RunEnd::kStuck;
      return;
    }
    const std::optional<Choice> choice = search_->Next(StateNow(), ChoicesNow());
    if (!choice) {
      end_ = RunEnd::kKnown;
      return;
    }
    if (search_->is_new() && !Check()) {
      end_ = RunEnd::kWrong;
      return;
    }
    if (choice->dies) {
      Kill(choice->member);
      continue;
    }
    next_ = choice->member;
    break;
  }
  Member& member = members_[next_];
  const bool was_forced =
      running_ == kNobody || !CanRun(members_[running_]) || members_[running_].waits;
  if (next_ != running_ && !was_forced) ++preemptions_;
  if (!std::exchange(member.waits, false)) return;
  member.seen.clear();
  member.changed_something = false;
  member.look = 0;
  member.calls_seen = files_->changes();
}

bool Turns::Check() {
  if (!check_) return true;
  current = nullptr;
  const bool is_right = check_();
  current = this;
  return is_right;
}

void Turns::Kill(size_t dying) {
  members_[dying].dead = true;
  ++deaths_;
  files_->DropLocksOf(dying);
  if (trace_ != nullptr) trace_->push_back("member " + std::to_string(dying) + " dies");
  if (running_ == dying) running_ = kNobody;
}

void Turns::TakeTurn() {
  const size_t self = running_;
  Member& member = members_[self];
  if (member.is_in_one_turn && !member.waits) return Learn(0);
  if (++turns_ > limits_.turns) {
    end_ = RunEnd::kTooLong;
  } else {
    Choose();
  }
  if (end_ != RunEnd::kNotYet || next_ != self) members_[self].fiber->Pause();
  // Even if it sees nothing: it has made progress.
  Learn(0);
}

void Turns::Learn(uint64_t value) {
  Member& member = members_[running_];
  member.known = Mix(member.known ^ Mix(value));
}

void Turns::See(const Place& place, const uint64_t* word) {
  Member& member = members_[running_];
  member.seen.push_back({word, *word});
  member.look = Mix(member.look ^ Mix((place.file << 32) + place.index) ^ *word);
}

void Turns::Trace(const char* what, const uint64_t* word, uint64_t value) {
  if (trace_ == nullptr) return;
  const AllocatesIn outside(AllocatesIn::kOutside);
  static constexpr const char* kKinds[] = {"segment", "shared", "live"};
  const Place place = files_->PlaceOf(word);
  char hex[24];
  std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(value));
  trace_->push_back("member " + std::to_string(running_) + " " + what + " " +
                    kKinds[static_cast<size_t>(place.kind)] + " (file " +
                    std::to_string(place.file) + ") at " + std::to_string(place.index * 8) + ": " +
                    hex);
}

// If members may die, each store is a turn: recovery finds exactly the stores that a dead member
// made.
bool Turns::IsTurn(const Place& place, bool stores) {
  const uint64_t block = files_->BlockOf(place);
  Note({block, 1}, stores ? Touch::kStore : Touch::kLoad);
  if (files_->NoteTouch(place, running_, stores)) {
    const AllocatesIn outside(AllocatesIn::kOutside);
    if (met_->words.Insert(place)) met_new_touches_ = true;
  }
  return (stores && limits_.deaths > 0) || known_.words.Has(place) ||
         MayOther(block, {Touch::kChange}) || (stores && MayOther(block, {Touch::kRead}));
}

void Turns::Note(Objects objects, Touch touch) {
  const AllocatesIn outside(AllocatesIn::kOutside);
  for (uint64_t i = 0; i < objects.count; ++i) {
    if (met_->objects.Note(objects.first + i, running_, touch)) {
      met_new_touches_ = true;
    }
  }
}

bool Turns::MayOther(uint64_t object, std::initializer_list<Touch> touches) const {
  uint8_t able = 0;
  for (const Touch touch : touches) able |= known_.objects.MembersOf(object, touch);
  for (size_t i = 0; i < members_.size() && able != 0; ++i) {
    const bool lives = i != running_ && !members_[i].done && !members_[i].dead;
    if (lives && (able & (1u << i)) != 0) return true;
  }
  return false;
}

void Turns::BeginRead(Objects objects) {
  Note(objects, Touch::kRead);
  bool is_turn = false;
  for (uint64_t i = 0; i < objects.count && !is_turn; ++i) {
    is_turn = MayOther(objects.first + i, {Touch::kChange, Touch::kStore});
  }
  if (is_turn) TakeTurn();
}

void Turns::Put(uint64_t* word, uint64_t value) {
  const Place place = files_->PlaceOf(word);
  const uint64_t before = std::exchange(*word, value);
  if (before == value) return;
  members_[running_].changed_something = true;
  files_->NoteStore(place, before, value);
}

uint64_t Turns::Load(const uint64_t* word) {
  const Place place = files_->PlaceOf(word);
  if (!place.known) return *word;
  if (IsTurn(place, false)) TakeTurn();
  See(place, word);
  uint64_t value = *word;
  Trace("loads", word, value);
  if (lie_ == Lie::kSkipsReserved && running_ == 0 && place.kind == FileKind::kSegment &&
      IsReserved(value)) {
    value = AsCommitted(value);
  }
  Learn(value);
  return value;
}

void Turns::Store(uint64_t* word, uint64_t value, bool postponable) {
  const Place place = files_->PlaceOf(word);
  if (!place.known) {
    *word = value;
    return;
  }
  const bool is_turn = IsTurn(place, true);
  Member& member = members_[running_];
  if (postponable && lie_ == Lie::kPublishesFirst && running_ == 0) {
    member.postponed.push_back({word, value});
    return;
  }
  if (is_turn) TakeTurn();
  Trace("stores", word, value);
  Put(word, value);
  StorePostponed();
}

void Turns::StorePostponed() {
  std::vector<Postponed> late = std::exchange(members_[running_].postponed, {});
  for (const Postponed& store : late) Store(store.word, store.value, false);
}

bool Turns::Swap(uint64_t* word, uint64_t* expected, uint64_t desired) {
  const Place place = files_->PlaceOf(word);
  if (place.known) {
    if (IsTurn(place, true)) TakeTurn();
    See(place, word);
    Learn(*word);
  }
  const bool swaps = *word == *expected;
  if (place.known) Trace(swaps ? "swaps in" : "finds", word, swaps ? desired : *word);
  *expected = *word;
  if (!swaps) return false;
  if (place.known) {
    Put(word, desired);
    StorePostponed();
  } else {
    *word = desired;
  }
  return true;
}

uint64_t Turns::Add(uint64_t* word, uint64_t added) {
  uint64_t before = *word;
  // The live page's bell is read by adding 0: see LiveBell.
  if (added == 0) return Load(word);
  do {
    before = *word;
  } while (!Swap(word, &before, before + added));
  return before;
}

void Turns::Raise(uint64_t* word, uint64_t value) {
  const Place place = files_->PlaceOf(word);
  if (place.known && IsTurn(place, true)) TakeTurn();
  if (*word >= value) return;
  Trace("raises", word, value);
  if (place.known) {
    Put(word, value);
  } else {
    *word = value;
  }
}

void Turns::WaitForNews() {
  Member& member = members_[running_];
  if (member.changed_something) {
    member.known_before_looks = member.known;
  } else {
    member.known = Mix(member.known_before_looks ^ member.look);
  }
  member.waits = true;
  TakeTurn();
}

void Turns::EndCall(const char* call, const std::string& name, uint64_t result,
                    uint64_t changes_before) {
  if (trace_ != nullptr) {
    const AllocatesIn outside(AllocatesIn::kOutside);
    trace_->push_back("member " + std::to_string(running_) + " " + call + " " + name + ": " +
                      std::to_string(result));
  }
  Member& member = members_[running_];
  if (files_->changes() != changes_before) member.changed_something = true;
  member.look = Mix(member.look ^ Mix(std::hash<std::string>()(name)) ^ result);
  Learn(result);
}

}  // namespace durlog::schedules
