#include "verifier.h"

#include <fstream>
#include <stdexcept>

namespace powercut {
namespace {

constexpr int kAnswerTimeoutMs = 60000;
// The kernel makes a random one at each boot.
constexpr const char* kBootIds[] = {"b0070000-0000-4000-8000-000000000001",
                                    "b0070000-0000-4000-8000-000000000002"};

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (!out.good()) throw std::runtime_error("writing " + path + " failed");
}

}  // namespace

Verifier::Verifier(std::string command, const std::string& notes_path, const std::string& scratch,
                   const std::string& seed)
    : command_(std::move(command)) {
  for (size_t i = 0; i < boots_.size(); ++i) {
    Boot& boot = boots_[i];
    boot.environment = {{"POWERCUT_NOTES", notes_path},
                        {"POWERCUT_RECORDED", scratch + "/recorded"},
                        {"POWERCUT_SEED", seed},
                        {"POWERCUT_BOOT", kBootIds[i]}};
    boot.id_path = scratch + "/boot-" + std::to_string(i);
    WriteFile(boot.id_path, std::string(kBootIds[i]) + "\n");
  }
}

void Verifier::Kill() {
  for (Boot& boot : boots_) boot.child.reset();
}

Verifier::Answer Verifier::Ask(const Question& question) {
  Boot& boot = boots_[question.again ? 1 : 0];
  std::unique_ptr<Child>& child = boot.child;
  if (!child) child = std::make_unique<Child>(command_, boot.environment, boot.id_path);
  std::string text = std::string("check ") + (question.again ? "2 " : "1 ") +
                     std::to_string(question.notes) + " " +
                     std::to_string(question.again_notes.size()) + " " + question.directory + "\n";
  for (const std::string& line : question.again_notes) text += line + "\n";
  const bool sent = child->Send(text);
  const std::optional<std::string> answer = sent ? child->ReadLine(kAnswerTimeoutMs) : std::nullopt;
  if (!answer) {
    const std::string ending = child->Kill();
    child.reset();
    return {false, "the verifier died: " + (ending.empty() ? "exited with 0" : ending)};
  }
  const size_t space = answer->find(' ');
  const std::string verdict = answer->substr(0, space);
  const std::string rest = space == std::string::npos ? "" : answer->substr(space + 1);
  if (verdict == "ok" || verdict == "violation") return {verdict == "ok", rest};
  throw std::runtime_error("the verifier answered neither ok nor violation: " + *answer);
}

void WriteNotes(const Recording& recording, const std::string& path) {
  std::string text;
  for (const Note& note : recording.notes) text += note.line + "\n";
  WriteFile(path, text);
}

}  // namespace powercut
