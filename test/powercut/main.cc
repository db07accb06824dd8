// The rig's program: `powercut run` records a workload and checks its cuts, `powercut replay` makes
// one cut again, `powercut faults` gives a driver a disk that fails. run.mjs and faults.mjs start
// it; its results are lines of JSON.
#include <sys/types.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "checker.h"
#include "fault_trial.h"
#include "file_systems.h"
#include "mounts.h"
#include "recorder.h"
#include "unix.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

// --name=value
class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const size_t equals = argument.find('=');
      if (argument.rfind("--", 0) != 0 || equals == std::string::npos) {
        throw std::runtime_error("options are --name=value, not " + argument);
      }
      values_[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    }
  }
  std::string Text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::runtime_error("--" + name + "= is missing");
    return found->second;
  }
  std::string Text(const std::string& name, const std::string& otherwise) const {
    return values_.count(name) > 0 ? Text(name) : otherwise;
  }
  uint64_t Number(const std::string& name, uint64_t otherwise) const {
    return values_.count(name) > 0 ? std::stoull(Text(name)) : otherwise;
  }

 private:
  std::map<std::string, std::string> values_;
};

std::string Quoted(const std::string& text) {
  std::ostringstream out;
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out << '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      out << ' ';
    } else {
      out << c;
    }
  }
  out << '"';
  return out.str();
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

CheckOptions CheckOptionsFrom(const Options& options) {
  CheckOptions check;
  check.verifier = options.Text("verifier");
  check.seed = options.Text("seed", "1");
  check.plan_seed = options.Number("seed", 1);
  check.at_flush_limit = options.Number("at-flush", UINT64_MAX);
  check.between_count = options.Number("between", 500);
  check.again_count = options.Number("again", 200);
  check.violations_limit = options.Number("violations", 10);
  check.keep = options.Text("keep", "");
  return check;
}

void PrintResult(const Recording& recording, const Checker& checker, double record_seconds,
                 double check_seconds) {
  const Tally& tally = checker.tally();
  const auto count = [&](OpKind kind) {
    return recording.CountOps(kind, recording.begin, recording.end);
  };
  std::cout << "{\"fileSystem\":" << Quoted(recording.file_system)
            << ",\"writes\":" << count(OpKind::kWrite) << ",\"flushes\":" << count(OpKind::kFlush)
            << ",\"notes\":" << recording.notes.size() << ",\"atFlush\":" << tally.at_flush
            << ",\"torn512\":" << tally.torn_512 << ",\"torn4096\":" << tally.torn_4096
            << ",\"again\":" << tally.again << ",\"disks\":" << tally.disks()
            << ",\"fileSystemTorn\":" << tally.file_system_torn
            << ",\"recordSeconds\":" << record_seconds << ",\"checkSeconds\":" << check_seconds
            << ",\"recoveries\":{";
  const char* separator = "";
  for (const auto& [recovery, times] : tally.recoveries) {
    std::cout << separator << Quoted(recovery) << ":" << times;
    separator = ",";
  }
  std::cout << "},\"violations\":[";
  separator = "";
  for (const Violation& violation : checker.violations()) {
    std::cout << separator << "{\"text\":" << Quoted(violation.text)
              << ",\"cut\":" << Quoted(violation.cut.ToString())
              << ",\"againFile\":" << Quoted(violation.again_file)
              << ",\"againCut\":" << Quoted(violation.again_cut)
              << ",\"disks\":" << violation.disks_before << "}";
    separator = ",";
  }
  std::cout << "]}" << std::endl;
}

int Run(const Options& options) {
  const CheckOptions check = CheckOptionsFrom(options);
  RecordOptions record;
  record.file_system = &FileSystemNamed(options.Text("fs"));
  record.workload = options.Text("workload");
  record.seed = options.Text("seed", "1");
  record.direct_io = options.Text("direct-io", "on") == "on";
  const Clock::time_point start = Clock::now();
  const Recording recording = Record(record);
  const double record_seconds = SecondsSince(start);
  const Clock::time_point check_start = Clock::now();
  Checker checker(recording, check);
  checker.Run();
  PrintResult(recording, checker, record_seconds, SecondsSince(check_start));
  return checker.violations().empty() ? 0 : 1;
}

int Replay(const Options& options) {
  const Recording recording = Recording::Load(options.Text("recording"));
  std::optional<Recording> again;
  Cut again_cut = {};
  if (!options.Text("again-recording", "").empty()) {
    again = Recording::Load(options.Text("again-recording"));
    again_cut = Cut::Parse(options.Text("again-cut"));
  }
  Checker checker(recording, CheckOptionsFrom(options));
  const Verifier::Answer answer =
      checker.Replay({Cut::Parse(options.Text("cut")), again ? &*again : nullptr, again_cut},
                     options.Text("image", ""));
  std::cout << (answer.ok ? "ok " : "violation ") << answer.text << std::endl;
  return answer.ok ? 0 : 1;
}

int Faults(const Options& options) {
  FaultTrial trial(FileSystemNamed(options.Text("fs")), options.Text("driver"));
  const std::string ending = trial.Run();
  if (ending.empty()) return 0;
  throw std::runtime_error("the driver " + ending);
}

void Stop(int) { g_stop_requested = 1; }

int Main(int argc, char** argv) {
  struct sigaction action = {};
  action.sa_handler = Stop;  // without SA_RESTART: a wait must end
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const std::string verb = argc > 1 ? argv[1] : "";
  const Options options(argc, argv);
  EnterPrivateMountNamespace();
  if (verb == "run") return Run(options);
  if (verb == "replay") return Replay(options);
  if (verb == "faults") return Faults(options);
  throw std::runtime_error("usage: powercut run|replay|faults --name=value ...; see README.md");
}

}  // namespace
}  // namespace powercut

int main(int argc, char** argv) {
  try {
    return powercut::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "powercut: " << error.what() << '\n';
    return 2;
  }
}
