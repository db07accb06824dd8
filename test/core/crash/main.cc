// crash_explorer: see docs/TESTING.md.
//   --points N         crash points to try (20000)
//   --seed S           the first seed (1)
//   --jobs N           processes to share the work (2)
//   --strategy NAME    one strategy only; --preallocate NAME likewise
//   --faults always    every seed has a failing call or a full disk; otherwise three in ten have
//   --faults any       every seed has up to three failing calls of any kind, with any error
//   --writers several  several processes have the log open at the same time
//   --broken NAME      early-ack, no-directory-sync, no-cut or kept-cache; with several writers
//   also
//                      publishes-first, acks-reserved or voids-live-owner: ends at the first
//                      violation
//   --replay SEED      runs one seed; if it fails, prints every call
// Exits with 0 if every promise held, 1 if one was broken, 2 on bad arguments.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "read/position_index.h"
#include "report.h"
#include "session.h"
#include "shared_session.h"

namespace durlog::crash {
namespace {

constexpr size_t kMaxViolations = 10;

struct Arguments {
  uint64_t points = 20000;
  uint64_t seed = 1;
  uint64_t jobs = 2;
  bool replay = false;
  bool broken = false;
  Wish wish;
  std::string switches;  // the switches that a replay also needs
};

Scenario RunSeed(uint64_t seed, const Wish& wish, Explorer* explorer) {
  // The process caches record positions; a seed must not depend on earlier seeds.
  PositionIndex::Shared().Clear();
  if (wish.shared) {
    const Scenario shared = MakeSharedScenario(seed, wish);
    SimulatedDisk disk(shared.traits, Mix(seed));
    SharedSession first(explorer, &disk, shared, SharedLedger(), seed, nullptr);
    first.Run(Survived::kPowerCut, shared.members, shared.steps);
    return shared;
  }
  const Scenario scenario = MakeScenario(seed, wish);
  SimulatedDisk disk(scenario.traits, Mix(seed));
  Session first(explorer, &disk, scenario, Ledger(), seed, nullptr);
  first.Run(Survived::kPowerCut, scenario.steps);
  return scenario;
}

// Runs every jobs-th seed from `worker` on.
Report Work(const Arguments& arguments, uint64_t worker) {
  Report report;
  const uint64_t share = (arguments.points + arguments.jobs - 1) / arguments.jobs;
  for (uint64_t i = worker; report.tally.points() < share; i += arguments.jobs) {
    const uint64_t seed = arguments.seed + i;
    Explorer explorer(false);
    const Scenario scenario = RunSeed(seed, arguments.wish, &explorer);
    ++report.seeds;
    report.tally.Add(explorer.tally);
    report.points[static_cast<size_t>(scenario.strategy)]
                 [static_cast<size_t>(scenario.preallocation)] += explorer.tally.points();
    if (!explorer.failed()) continue;
    report.violations.push_back(Violation{seed, report.tally.points(), explorer.violation()});
    if (arguments.broken || report.violations.size() >= kMaxViolations) break;
  }
  return report;
}

// Each worker is a process, because the simulation has only one thread.
Report WorkTogether(const Arguments& arguments) {
  std::vector<int> pipes;
  for (uint64_t worker = 0; worker < arguments.jobs; ++worker) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    if (fork() == 0) {
      const std::string text = Work(arguments, worker).Serialize();
      size_t done = 0;
      while (done < text.size()) {
        const ssize_t put = write(ends[1], text.data() + done, text.size() - done);
        if (put <= 0) _exit(3);
        done += static_cast<size_t>(put);
      }
      _exit(0);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  Report report;
  for (const int end : pipes) {
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = read(end, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
    close(end);
    report.Add(Report::Parse(text));
  }
  for (uint64_t worker = 0; worker < arguments.jobs; ++worker) {
    int status = 0;
    wait(&status);
    if (status != 0) {
      report.violations.push_back(Violation{0, 0, "a worker process has died: it crashed"});
    }
  }
  return report;
}

int Replay(const Arguments& arguments) {
  Explorer explorer(true);
  RunSeed(arguments.seed, arguments.wish, &explorer);
  for (const std::string& event : explorer.trail()) std::printf("%s\n", event.c_str());
  std::printf("%s\n", explorer.failed() ? explorer.violation().c_str() : "nothing found");
  return explorer.failed() ? 1 : 0;
}

template <size_t kCount>
bool Choose(const char* const (&names)[kCount], const char* value, int* index) {
  for (size_t i = 0; i < kCount; ++i) {
    if (std::strcmp(names[i], value) == 0) {
      *index = static_cast<int>(i);
      return true;
    }
  }
  return false;
}

bool ParseOne(const std::string& name, const char* value, Arguments* arguments) {
  int index = 0;
  Lies& lies = arguments->wish.lies;
  if (name == "--points") {
    arguments->points = std::strtoull(value, nullptr, 10);
  } else if (name == "--seed" || name == "--replay") {
    arguments->seed = std::strtoull(value, nullptr, 10);
    arguments->replay = arguments->replay || name == "--replay";
  } else if (name == "--jobs") {
    arguments->jobs = std::strtoull(value, nullptr, 10);
    return arguments->jobs > 0;
  } else if (name == "--strategy") {
    if (!Choose(kStrategyNames, value, &index)) return false;
    arguments->wish.strategy = static_cast<Strategy>(index);
    arguments->switches += " --strategy " + std::string(value);
  } else if (name == "--preallocate") {
    if (!Choose(kPreallocationNames, value, &index)) return false;
    arguments->wish.preallocation = index;
    arguments->switches += " --preallocate " + std::string(value);
  } else if (name == "--faults") {
    arguments->wish.always_faulty = std::strcmp(value, "always") == 0;
    arguments->wish.any_fault = std::strcmp(value, "any") == 0;
    arguments->switches += " --faults " + std::string(value);
    return arguments->wish.always_faulty || arguments->wish.any_fault;
  } else if (name == "--writers") {
    arguments->wish.shared = std::strcmp(value, "several") == 0;
    arguments->switches += " --writers " + std::string(value);
    return arguments->wish.shared;
  } else if (name == "--broken") {
    static constexpr const char* kNames[] = {
        "early-ack",       "no-directory-sync", "no-cut",           "kept-cache",
        "publishes-first", "acks-reserved",     "voids-live-owner",
    };
    if (!Choose(kNames, value, &index)) return false;
    lies.commit_sync = index == 0;
    lies.directory_sync = index == 1;
    lies.truncate = index == 2;
    lies.cache = index == 3;
    if (index == 4) arguments->wish.broken = BrokenMember::kPublishesFirst;
    if (index == 5) arguments->wish.broken = BrokenMember::kAcknowledgesReserved;
    lies.owners = index == 6;
    arguments->wish.shared = arguments->wish.shared || index >= 4;
    arguments->wish.always_faulty = arguments->wish.always_faulty || lies.cache;
    arguments->broken = true;
    arguments->switches += " --broken " + std::string(value);
  } else {
    return false;
  }
  return true;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  bool understood = argc % 2 == 1;
  for (int i = 1; understood && i + 1 < argc; i += 2) {
    understood = ParseOne(argv[i], argv[i + 1], &arguments);
  }
  if (understood && arguments.wish.strategy && arguments.wish.preallocation) {
    understood = IsAllowed(*arguments.wish.strategy, *arguments.wish.preallocation);
  }
  if (!understood) {
    std::fprintf(stderr, "crash_explorer: bad arguments; main.cc lists them\n");
    return 2;
  }
  if (arguments.replay) return Replay(arguments);
  const Report report = arguments.jobs == 1 ? Work(arguments, 0) : WorkTogether(arguments);
  report.Print(arguments.switches);
  return report.violations.empty() ? 0 : 1;
}

}  // namespace
}  // namespace durlog::crash

int main(int argc, char** argv) { return durlog::crash::Main(argc, argv); }
