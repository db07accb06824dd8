#include "scenario.h"

#include <utility>

namespace durlog::schedules {
namespace {

constexpr uint64_t kRecordBytes = 32;
constexpr uint64_t kPlenty = 40;
constexpr int kAny = -1;

Scenario Make(const std::string& name, std::vector<std::string> members, uint64_t room_for_records,
              int deaths, int preemptions) {
  Scenario scenario;
  scenario.name = name;
  scenario.members = std::move(members);
  scenario.room_bytes = room_for_records * kRecordBytes;
  scenario.limits.deaths = deaths;
  scenario.limits.preemptions = preemptions;
  return scenario;
}

Scenario WithoutSpare(Scenario scenario) {
  scenario.without_spare = true;
  return scenario;
}

Scenario StopsInOpen(Scenario scenario) {
  scenario.stops_in_open_only = true;
  return scenario;
}

Scenario AfterSession(Scenario scenario) {
  scenario.after_session = true;
  return scenario;
}

}  // namespace

std::vector<Scenario> ShortScenarios() {
  return {
      Make("two", {"w", "w"}, kPlenty, 1, kAny),
      Make("two-batch", {"wb", "w"}, kPlenty, 1, kAny),
      Make("two-rotation", {"w", "w"}, 1, 1, kAny),
      WithoutSpare(Make("two-spare", {"w", "w"}, 1, 1, 2)),
      Make("two-first", {"w", "w"}, 0, 1, 2),
      Make("two-sync", {"s", "s"}, kPlenty, 1, 2),
      Make("two-sync-rotation", {"s", "s"}, 1, 1, 1),
      Make("two-async-rotation", {"a", "s"}, 1, 1, 1),
      Make("three", {"w", "w", "w"}, kPlenty, 1, 2),
      Make("three-rotation", {"w", "w", "w"}, 1, 1, 1),
      Make("join", {"w", "w", "jw"}, kPlenty, 1, 2),
      Make("leave", {"wl", "wl"}, kPlenty, 1, 2),
      Make("leave-join", {"wl", "jw"}, kPlenty, 1, 2),
      Make("trim", {"fst", "w"}, 1, 1, 1),
      AfterSession(Make("alone-truncate", {"jsl", "oxsc"}, kPlenty, 1, kAny)),
      AfterSession(Make("alone-rotate", {"jsl", "orwc"}, kPlenty, 1, kAny)),
      AfterSession(Make("alone-trim", {"jsl", "orwtc"}, kPlenty, 1, kAny)),
      AfterSession(Make("alone-two", {"oxsc", "orsc"}, kPlenty, 1, kAny)),
      AfterSession(Make("alone-three", {"jsl", "oxc", "jwl"}, kPlenty, 0, 1)),
      StopsInOpen(AfterSession(Make("open-truncate", {"jsl", "oxc", "oxsc"}, kPlenty, 0, kAny))),
      StopsInOpen(AfterSession(Make("open-rotate", {"jsl", "orsc", "orwc"}, kPlenty, 0, kAny))),
      StopsInOpen(AfterSession(Make("open-trim", {"jsl", "orwtc", "orsc"}, kPlenty, 0, kAny))),
      StopsInOpen(AfterSession(Make("open-join", {"jl", "oxc", "jl"}, kPlenty, 0, kAny))),
  };
}

std::vector<Scenario> LongScenarios() {
  return {
      Make("two-sync", {"s", "s"}, kPlenty, 1, kAny),
      Make("three", {"w", "w", "w"}, kPlenty, 1, 4),
      Make("three-batch", {"wb", "w", "w"}, kPlenty, 1, 3),
      Make("three-rotation", {"w", "w", "w"}, 1, 1, 3),
      Make("three-two-die", {"w", "w", "w"}, kPlenty, 2, 3),
      WithoutSpare(Make("three-spare", {"w", "w", "w"}, 1, 1, 2)),
      Make("two-sync-rotation", {"s", "s"}, 1, 1, 3),
      Make("three-sync-rotation", {"s", "s", "w"}, 1, 1, 2),
      Make("join", {"w", "w", "jw"}, kPlenty, 1, 3),
      Make("join-rotation", {"w", "w", "jw"}, 1, 1, 2),
      Make("leave", {"wl", "wl"}, kPlenty, 1, 3),
      Make("trim", {"fst", "ww"}, 1, 1, 2),
      Make("trim-far", {"fffst", "w"}, 1, 1, 1),
      Make("trim-both", {"fst", "fst"}, 1, 1, 1),
      Make("leave-join", {"wl", "w", "jwl"}, kPlenty, 1, 2),
      AfterSession(Make("alone-three", {"jsl", "oxc", "jwl"}, kPlenty, 1, 3)),
      StopsInOpen(AfterSession(Make("open-truncate", {"jsl", "oxc", "oxsc"}, kPlenty, 1, kAny))),
  };
}

}  // namespace durlog::schedules
