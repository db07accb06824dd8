// One run: members that take turns. Each access to shared state is a turn.
//
// A turn is one load, store, compare-and-swap or addition of a contested word, or one call of the
// file system that changes something, takes or tests a lock, or reads what another living member
// can still change (see Touches). Every other access gives the same result before and after any
// turn of another member, and is made with the member's previous turn. The payload of a record,
// too, is stored with the previous turn: no other member touches those bytes. All members see the
// turns in the same order: weaker memory orders are not tried.
//
// A waiting member gets its next turn once a value has changed that it saw when it last looked. The
// model assumes that its state then depends only on that look and on its state before the wait.
// That is true of every loop in src-native/shared that yields or sleeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../crash/fiber.h"
#include "model_files.h"
#include "search.h"

namespace durlog::schedules {

// A way in which member 0 is broken.
enum class Lie : uint8_t {
  kNone,
  kPublishesFirst,  // its frame's header is stored after it has published the frame
  kSkipsReserved,   // treats another member's reservation as a complete record
  kVoidsLiving,     // treats every other member as dead
  kJoinsUnproven,   // joins the session that the page named before the first turn, although no
                    // other process is a member of it
};

struct Limits {
  int preemptions = -1;   // switches away from a member that could continue; -1: any number
  int deaths = 0;         // members that may die
  size_t turns = 20'000;  // a run that takes more turns counts as endless
};

enum class RunEnd : uint8_t {
  kNotYet,
  kDone,     // every member has finished or is dead
  kKnown,    // the rest of the run has been tried
  kStuck,    // each live member waits for an event that cannot come
  kTooLong,  // the turns of Limits are used up
  kWrong,    // the files break a promise
};

// The accesses of all members.
struct Accesses {
  ContestedWords words;
  Touches objects;
};

class Turns {
 public:
  // `known` decides which accesses are turns. The accesses of this run are added to `met`.
  Turns(Search* search, ModelFiles* files, const Accesses& known, Accesses* met,
        const Limits& limits, Lie lie);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Adds a member, whose work runs in a fiber. Call before Run().
  void Add(std::function<void()> work);
  RunEnd Run();
  bool IsDead(size_t member) const { return members_[member].dead; }
  size_t running() const { return running_; }
  // Adds to the state a result by which the end of the run is judged.
  void Tell(uint64_t what) { told_ ^= what; }
  // Whether members' accesses conflicted that had not in any run: earlier runs may have omitted a
  // turn.
  bool met_new_touches() const { return met_new_touches_; }
  // A hash of the files and of the members' results.
  uint64_t Content() const { return files_->hash() ^ Mix(told_); }
  // `check` is called in each new state, outside of turns. It returns false if the state breaks a
  // promise.
  void set_check(std::function<bool()> check) { check_ = std::move(check); }
  void set_trace(std::vector<std::string>* trace) { trace_ = trace; }

  // Null while no turns are taken; accesses then happen immediately.
  static Turns* Current();

  // Accesses of the running member.
  uint64_t Load(const uint64_t* word);
  void Store(uint64_t* word, uint64_t value, bool postponable);
  bool Swap(uint64_t* word, uint64_t* expected, uint64_t desired);
  uint64_t Add(uint64_t* word, uint64_t added);
  void Raise(uint64_t* word, uint64_t value);
  void WaitForNews();
  // The member begins the next step of its work, which is one turn unless it waits.
  void BeginStep(bool is_one_turn) {
    members_[running_].is_in_one_turn = false;
    if (is_one_turn) TakeTurn();
    members_[running_].is_in_one_turn = is_one_turn;
  }
  // Before a call: one that changes something, or one that reads `objects`.
  void BeginCall() { TakeTurn(); }
  void BeginRead(Objects objects);
  void Note(Objects objects, Touch touch);
  // Takes the result of a call.
  void EndCall(const char* call, const std::string& name, uint64_t result, uint64_t changes_before);
  bool BelievesMember() const { return lie_ == Lie::kJoinsUnproven && running_ == 0; }
  bool BelievesAlive() const { return lie_ != Lie::kVoidsLiving || running_ != 0; }

 private:
  struct Seen {
    const uint64_t* word;
    uint64_t value;
  };
  struct Postponed {
    uint64_t* word;
    uint64_t value;
  };
  struct Member {
    std::unique_ptr<crash::Fiber> fiber;
    uint64_t known = 0;  // hash of all values that it has seen
    bool is_in_one_turn = false;
    bool done = false;
    bool dead = false;
    bool waits = false;
    // The state since it last waited.
    bool changed_something = true;
    uint64_t calls_seen = 0;  // ModelFiles::changes()
    uint64_t look = 0;        // hash of the values that it has seen, and their places
    std::vector<Seen> seen;
    uint64_t known_before_looks = 0;
    std::vector<Postponed> postponed;
  };
  static constexpr size_t kNobody = SIZE_MAX;

  bool HasNews(const Member& member) const;
  bool CanRun(const Member& member) const;
  Choices ChoicesNow() const;
  uint64_t StateNow() const;
  void Choose();
  bool Check();
  void TakeTurn();
  void Kill(size_t member);
  void Put(uint64_t* word, uint64_t value);
  void Learn(uint64_t value);
  void See(const Place& place, const uint64_t* word);
  bool IsTurn(const Place& place, bool stores);
  // Whether another living member may access the object in one of these ways.
  bool MayOther(uint64_t object, std::initializer_list<Touch> touches) const;
  void StorePostponed();
  void Trace(const char* what, const uint64_t* word, uint64_t value);

  Search* const search_;
  ModelFiles* const files_;
  const Accesses& known_;
  Accesses* const met_;
  const Limits limits_;
  const Lie lie_;
  std::vector<Member> members_;
  std::function<bool()> check_;
  std::vector<std::string>* trace_ = nullptr;
  RunEnd end_ = RunEnd::kNotYet;
  size_t running_ = kNobody;
  size_t next_ = kNobody;
  size_t turns_ = 0;
  int preemptions_ = 0;
  int deaths_ = 0;
  bool met_new_touches_ = false;
  uint64_t told_ = 0;
};

}  // namespace durlog::schedules
