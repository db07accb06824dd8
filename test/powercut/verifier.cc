#include "verifier.h"

#include <fstream>
#include <stdexcept>

namespace powercut {
namespace {

constexpr int kAnswerTimeoutMs = 60000;

}  // namespace

Verifier::Verifier(std::string command, std::string notes_path, std::string recorded_path,
                   std::string seed)
    : command_(std::move(command)),
      environment_({{"POWERCUT_NOTES", std::move(notes_path)},
                    {"POWERCUT_RECORDED", std::move(recorded_path)},
                    {"POWERCUT_SEED", std::move(seed)}}) {}

Verifier::Answer Verifier::Ask(const Question& question) {
  if (!child_) child_ = std::make_unique<Child>(command_, environment_);
  std::string text = std::string("check ") + (question.again ? "2 " : "1 ") +
                     std::to_string(question.notes) + " " +
                     std::to_string(question.again_notes.size()) + " " + question.directory + "\n";
  for (const std::string& line : question.again_notes) text += line + "\n";
  const bool sent = child_->Send(text);
  const std::optional<std::string> answer =
      sent ? child_->ReadLine(kAnswerTimeoutMs) : std::nullopt;
  if (!answer) {
    const std::string ending = child_->Kill();
    child_.reset();
    return {false, "the verifier died: " + (ending.empty() ? "exited with 0" : ending)};
  }
  const size_t space = answer->find(' ');
  const std::string verdict = answer->substr(0, space);
  const std::string rest = space == std::string::npos ? "" : answer->substr(space + 1);
  if (verdict == "ok" || verdict == "violation") return {verdict == "ok", rest};
  throw std::runtime_error("the verifier answered neither ok nor violation: " + *answer);
}

void WriteNotes(const Recording& recording, const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (const Note& note : recording.notes) out << note.line << '\n';
  out.flush();
  if (!out.good()) throw std::runtime_error("writing " + path + " failed");
}

}  // namespace powercut
