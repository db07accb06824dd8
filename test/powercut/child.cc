#include "child.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "mounts.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kCommandTimeoutMs = 120000;

[[noreturn]] void Become(const std::string& command, const Child::Environment& environment,
                         const std::string& boot_id_path, int input, int output) {
  // The child dies with the rig: otherwise it would keep the rig's mounts alive.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  std::signal(SIGPIPE, SIG_DFL);
  try {
    if (!boot_id_path.empty()) EnterBoot(boot_id_path);
  } catch (const std::system_error& error) {
    std::cerr << "powercut: " << error.what() << std::endl;
    _exit(126);
  }
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

std::string Ending(int status) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Child::Child(const std::string& command, const Environment& environment,
             const std::string& boot_id_path) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) ThrowErrno("pipe");
  UniqueFd child_in(in[0]);
  to_ = UniqueFd(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) ThrowErrno("pipe");
  from_ = UniqueFd(out[0]);
  UniqueFd child_out(out[1]);
  pid_ = fork();
  if (pid_ < 0) ThrowErrno("fork");
  if (pid_ == 0) Become(command, environment, boot_id_path, child_in.get(), child_out.get());
  setpgid(pid_, pid_);
}

Child::~Child() { Kill(); }

bool Child::Send(const std::string& text) {
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = write(to_.get(), text.data() + sent, text.size() - sent);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<size_t>(n);
    ThrowIfStopped();
  }
  return true;
}

std::optional<std::string> Child::ReadLine(int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting = {from_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0);
    ThrowIfStopped();
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    char chunk[4096];
    const ssize_t n = read(from_.get(), chunk, sizeof(chunk));
    if (n <= 0) return std::nullopt;
    received_.append(chunk, static_cast<size_t>(n));
  }
}

std::string Child::Reap(int options) {
  int status = 0;
  for (;;) {
    const pid_t reaped = waitpid(pid_, &status, options);
    if (reaped == 0) return "still running";
    if (reaped == pid_) break;
    if (errno != EINTR) ThrowErrno("waitpid");
  }
  pid_ = -1;
  return Ending(status);
}

std::string Child::Wait(int timeout_ms) {
  to_.Close();
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (Clock::now() < deadline) {
    const std::string ending = Reap(WNOHANG);
    if (pid_ < 0) return ending;
    // Reads its output, so that it never waits for a reader. After its end this is a short sleep.
    constexpr int kPollMs = 20;
    if (!ReadLine(kPollMs)) usleep(1000);
  }
  return Kill();
}

std::string Child::Kill() {
  if (pid_ < 0) return "";
  const pid_t group = pid_;
  // The end of its input asks it to exit. The exit status of a dead child takes a moment to arrive.
  to_.Close();
  std::string ending;
  constexpr int kAttempts = 20;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ending = Reap(WNOHANG);
    if (pid_ < 0) break;
    usleep(5000);
  }
  kill(-group, SIGKILL);
  if (pid_ >= 0) {
    ending = "no answer in time";
    while (waitpid(group, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  return ending;
}

void RunCommand(const std::string& command) {
  Child child(command, {});
  const std::string ending = child.Wait(kCommandTimeoutMs);
  if (!ending.empty()) throw std::runtime_error(command + ": " + ending);
}

}  // namespace powercut
