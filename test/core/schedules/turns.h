// One run: members that take turns, one at each access to what they share.
//
// A turn is one load, store, compare-and-swap or addition of a contested word, or one call about
// names or locks. The payload of a record is stored with the previous turn: no other member touches
// those bytes. Turns follow each other in one order that all members see; how weakly a processor
// may order them is not tried.
//
// A member that waits gets its next turn once something has changed of what it saw when it last
// looked. Its knowledge is then assumed to follow from that look and from its knowledge before it
// began to wait. That is true of every loop in src-native/shared that yields or sleeps.
#ifndef DURLOG_TEST_CORE_SCHEDULES_TURNS_H_
#define DURLOG_TEST_CORE_SCHEDULES_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../crash/fiber.h"
#include "model_files.h"
#include "search.h"

namespace durlog::schedules {

// How member 0 is broken.
enum class Lie : uint8_t {
  kNone,
  kPublishesFirst,  // its frame's header is stored after it has published the frame
  kSkipsReserved,   // takes what another one has reserved for a whole record
  kVoidsLiving,     // takes every other member for dead
};

struct Limits {
  int preemptions = -1;   // switches away from a member that could continue; -1: any number
  int deaths = 0;         // members that may die
  size_t turns = 20'000;  // of a run: one that takes more does not end
};

enum class RunEnd : uint8_t {
  kNotYet,
  kDone,     // every member has finished or is dead
  kKnown,    // the rest of the run has been tried
  kStuck,    // each member that lives waits for an event that cannot come
  kTooLong,  // the turns of Limits are used up
  kWrong,    // the files break a promise
};

class Turns {
 public:
  Turns(Search* search, ModelFiles* files, ContestedWords* contested, const Limits& limits,
        Lie lie);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Each member's work is done in a fiber. Before Run().
  void Add(std::function<void()> work);
  RunEnd Run();
  bool IsDead(size_t member) const { return members_[member].dead; }
  size_t running() const { return running_; }
  // Adds to the state a result by which the end of the run is judged.
  void Tell(uint64_t what) { told_ ^= what; }
  // Whether a word was contested that was not in any run before.
  bool met_new_words() const { return met_new_words_; }
  // A hash of the files and of the results that the members got.
  uint64_t Content() const { return files_->hash() ^ Mix(told_); }
  // Called in each new state, outside of turns. False if the state breaks a promise.
  void set_check(std::function<bool()> check) { check_ = std::move(check); }
  void set_trace(std::vector<std::string>* trace) { trace_ = trace; }

  // Null while no turns are taken: accesses are then made at once.
  static Turns* Current();

  // Of the member that runs.
  uint64_t Load(const uint64_t* word);
  void Store(uint64_t* word, uint64_t value, bool postponable);
  bool Swap(uint64_t* word, uint64_t* expected, uint64_t desired);
  uint64_t Add(uint64_t* word, uint64_t added);
  void Raise(uint64_t* word, uint64_t value);
  void WaitForNews();
  // A call about names or locks: before it, and with its result.
  void BeginCall() { TakeTurn(); }
  void EndCall(const char* call, const std::string& name, uint64_t result, uint64_t changes_before);
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
    uint64_t known = 0;  // hash of all that it has seen
    bool done = false;
    bool dead = false;
    bool waits = false;
    // Since it last waited: a look.
    bool changed_something = true;
    uint64_t calls_seen = 0;  // ModelFiles::changes()
    uint64_t look = 0;        // hash of what it has seen, and where
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
  void StorePostponed();
  void Trace(const char* what, const uint64_t* word, uint64_t value);

  Search* const search_;
  ModelFiles* const files_;
  ContestedWords* const contested_;
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
  bool met_new_words_ = false;
  uint64_t told_ = 0;
};

}  // namespace durlog::schedules

#endif  // DURLOG_TEST_CORE_SCHEDULES_TURNS_H_
