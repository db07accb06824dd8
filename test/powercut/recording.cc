#include "recording.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace powercut {
namespace {

constexpr char kMagic[] = "durlog-powercut-1";

// Parses a sequence of "<position> <length>\n<text>": one Note for each line of each text.
std::vector<Note> ParseNotes(std::string_view text) {
  std::vector<Note> notes;
  while (!text.empty()) {
    const size_t header_end = text.find('\n');
    std::istringstream header{std::string(text.substr(0, header_end))};
    uint64_t position = 0;
    size_t length = 0;
    header >> position >> length;
    std::istringstream lines{std::string(text.substr(header_end + 1, length))};
    for (std::string line; std::getline(lines, line);) notes.push_back({position, line});
    text.remove_prefix(header_end + 1 + length);
  }
  return notes;
}

void CheckStream(const std::ios& stream, const std::string& path) {
  if (!stream.good()) throw std::runtime_error("reading or writing " + path + " failed");
}

}  // namespace

Recording Recording::Of(const RecordedDisk& disk, std::string file_system, uint64_t begin,
                        uint64_t end) {
  if (disk.overflowed()) throw std::runtime_error("the log of the disk is full");
  Recording recording;
  recording.file_system = std::move(file_system);
  recording.image_bytes = disk.image_bytes();
  recording.begin = begin;
  recording.end = end;
  recording.ops.assign(disk.ops(), disk.ops() + end);
  recording.data.assign(disk.log_data(), disk.log_data() + disk.log_data_bytes());
  recording.notes = ParseNotes(disk.notes());
  return recording;
}

void Recording::Save(const std::string& path) const {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << kMagic << '\n' << file_system << '\n';
  out << image_bytes << ' ' << begin << ' ' << end << ' ' << ops.size() << ' ' << data.size() << ' '
      << notes.size() << '\n';
  for (const Note& note : notes) out << note.position << ' ' << note.line << '\n';
  out.write(reinterpret_cast<const char*>(ops.data()),
            static_cast<std::streamsize>(ops.size() * sizeof(DiskOp)));
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.flush();
  CheckStream(out, path);
}

Recording Recording::Load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string magic;
  std::getline(in, magic);
  CheckStream(in, path);
  if (magic != kMagic) throw std::runtime_error(path + " is not a recording");
  Recording recording;
  size_t op_count = 0;
  size_t data_bytes = 0;
  size_t note_count = 0;
  std::getline(in, recording.file_system);
  in >> recording.image_bytes >> recording.begin >> recording.end >> op_count >> data_bytes >>
      note_count;
  in.ignore(1);
  for (size_t i = 0; i < note_count; ++i) {
    Note note = {};
    in >> note.position;
    in.ignore(1);
    std::getline(in, note.line);
    recording.notes.push_back(note);
  }
  recording.ops.resize(op_count);
  in.read(reinterpret_cast<char*>(recording.ops.data()),
          static_cast<std::streamsize>(op_count * sizeof(DiskOp)));
  recording.data.resize(data_bytes);
  in.read(reinterpret_cast<char*>(recording.data.data()), static_cast<std::streamsize>(data_bytes));
  CheckStream(in, path);
  return recording;
}

uint64_t Recording::DurableAt(uint64_t index) const {
  while (index > 0 && ops[index - 1].kind != OpKind::kFlush) --index;
  return index;
}

uint64_t Recording::NotesAt(uint64_t index) const {
  const auto after =
      std::upper_bound(notes.begin(), notes.end(), index,
                       [](uint64_t limit, const Note& note) { return limit < note.position; });
  return static_cast<uint64_t>(after - notes.begin());
}

uint64_t Recording::CountOps(OpKind kind, uint64_t from, uint64_t to) const {
  uint64_t count = 0;
  for (uint64_t i = from; i < to; ++i) count += ops[i].kind == kind ? 1U : 0U;
  return count;
}

}  // namespace powercut
