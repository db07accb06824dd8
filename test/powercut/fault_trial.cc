#include "fault_trial.h"

#include <iostream>
#include <optional>
#include <sstream>

namespace powercut {
namespace {

constexpr int kSilenceTimeoutMs = 120000;

}  // namespace

FaultTrial::FaultTrial(const FileSystem& file_system, const std::string& driver)
    : file_system_(file_system),
      directory_(scratch_.MakeFolder("mnt")),
      disk_(file_system.image_bytes),
      server_(disk_, scratch_.MakeFolder("fuse"), DiskServer::Caching::kNone),
      loop_(server_.disk_path(), /*direct_io=*/true),
      driver_(driver, {}) {}

std::string FaultTrial::Run() {
  while (const std::optional<std::string> line = driver_.ReadLine(kSilenceTimeoutMs)) {
    if (line->rfind("tell ", 0) == 0) {
      std::cout << line->substr(5) << std::endl;
      continue;
    }
    std::string answer;
    try {
      answer = Answer(*line);
    } catch (const std::system_error& error) {
      answer = std::string("failed ") + error.what();
    }
    if (!driver_.Send(answer + "\n")) break;
  }
  std::string ending = driver_.Kill();
  if (mount_) mount_->Unmount();
  return ending;
}

std::string FaultTrial::Answer(const std::string& line) {
  if (disk_.overflowed()) throw std::runtime_error("the log of the disk is full");
  const size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  if (verb == "fresh") {
    Fresh();
    return "ok " + directory_;
  }
  if (verb == "fired") return "ok " + std::to_string(disk_.fired());
  if (verb == "arm") {
    Arm(line.substr(space));
  } else if (verb == "remount") {
    mount_->Unmount();
    MountAgain();
  } else if (verb == "off") {
    disk_.PowerOff();
  } else if (verb == "on") {
    mount_->Unmount();
    disk_.PowerOn();
    MountAgain();
  } else {
    throw std::runtime_error("the driver says " + line);
  }
  return "ok";
}

void FaultTrial::Fresh() {
  if (mount_) mount_->Unmount();
  mount_.reset();
  disk_.Clear();
  loop_.DropCache();
  RunCommand(std::string(file_system_.make_command) + " " + loop_.path());
  MountAgain();
}

void FaultTrial::MountAgain() {
  mount_.reset();
  loop_.DropCache();
  mount_ = std::make_unique<Mount>(loop_.path(), directory_, file_system_.name);
}

void FaultTrial::Arm(const std::string& arguments) {
  std::istringstream words(arguments);
  std::string kind;
  DiskFault fault = {};
  words >> kind >> fault.nth >> fault.error >> fault.delay_ms;
  if (words.fail()) throw std::runtime_error("the driver says arm" + arguments);
  fault.kind = kind == "flush" ? OpKind::kFlush : OpKind::kWrite;
  disk_.Arm(fault);
}

}  // namespace powercut
