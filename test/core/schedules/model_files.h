// The file system that the members of one run share: bytes in memory, names, and range locks. A
// lock belongs to an open file and ends with its member.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../crash/random.h"
#include "platform/file_system.h"
#include "recovery/shared_session.h"
#include "touches.h"

namespace durlog::schedules {

using crash::Mix;

enum class FileKind : uint8_t { kSegment, kMembersPage, kLivePage };
inline constexpr size_t kFileKinds = 3;

// A word of a file. The same word of every segment counts as one place.
struct Place {
  FileKind kind = FileKind::kSegment;
  size_t index = 0;  // of the word
  uint64_t file = 0;
  bool known = false;
};

// The places that two members have accessed in some run, at least one of them with a store. The
// order of accesses to other places makes no difference.
class ContestedWords {
 public:
  // Returns true if the place is new.
  bool Insert(const Place& place) {
    std::vector<bool>& words = words_[static_cast<size_t>(place.kind)];
    if (words.size() <= place.index) words.resize(place.index + 1);
    const bool is_new = !words[place.index];
    words[place.index] = true;
    return is_new;
  }
  bool Has(const Place& place) const {
    const std::vector<bool>& words = words_[static_cast<size_t>(place.kind)];
    return place.index < words.size() && words[place.index];
  }

 private:
  std::array<std::vector<bool>, kFileKinds> words_;
};

// The session that the page names before the first turn, if the scenario has one.
inline constexpr uint64_t kDeadSession = 2;

struct HeldRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  LockKind kind = LockKind::kShared;
  uint64_t open = 0;  // of the file, by number
  size_t member = 0;
};

struct ModelInode {
  uint64_t id = 0;
  FileKind kind = FileKind::kSegment;
  bool is_mapped = false;
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> touched;  // by word: a bit for each member, and one for each that stores
  std::vector<HeldRange> locks;

  // Its objects: see Touches.
  Objects Size() const { return {id << 20, 1}; }
  // Those of the bytes [begin, end).
  Objects Blocks(uint64_t begin, uint64_t end) const {
    const uint64_t first = begin / kBlockBytes;
    const uint64_t last = (std::min<uint64_t>(end, kMaxFileBytes) + kBlockBytes - 1) / kBlockBytes;
    return {(id << 20) + 1 + first, last > first ? last - first : 0};
  }
  uint64_t BlockOfWord(size_t index) const { return Blocks(index * 8, index * 8 + 1).first; }
  static constexpr uint64_t kBlockBytes = 512;
  static constexpr size_t kMaxFileBytes = 64 << 10;
};

inline constexpr Objects kFolderEntries{UINT64_MAX, 1};
inline Objects NameOf(const std::string& name) {
  return {std::hash<std::string>()(name) | (uint64_t{1} << 63), 1};
}
// The running member of a run changes the objects.
void NoteChange(Objects objects);

// Time does not pass. A random number depends on the member and on how many it has drawn.
class ModelFiles final : public FileSystem {
 public:
  static constexpr size_t kMostMembers = 4;
  static constexpr size_t kMaxFileBytes = ModelInode::kMaxFileBytes;

  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) override;
  uint64_t NowMs() override { return 1'700'000'000'000; }
  uint64_t MonotonicMicros() override { return 0; }
  uint64_t Random64() override {
    const size_t member = Acting();
    return Mix(Mix(member + 1) + ++asked_[member]);
  }
  int64_t ProcessId() override { return static_cast<int64_t>(Acting()) + 1; }

  // The member that makes the calls while no turns are taken.
  void set_acting(size_t member) { acting_ = member; }
  void DropLocksOf(size_t member);
  // The same files, all closed.
  std::unique_ptr<ModelFiles> Copy() const;

  Place PlaceOf(const uint64_t* word) const;
  uint64_t BlockOf(const Place& place) const {
    return inodes_[static_cast<size_t>(place.file)]->BlockOfWord(place.index);
  }
  // The hash of all words that a turn has stored, and of names and locks.
  uint64_t hash() const { return words_hash_ ^ calls_hash_; }
  // Notes an access. Returns whether another member has accessed the place in this run and one of
  // the two has stored to it.
  bool NoteTouch(const Place& place, size_t member, bool stores);
  void NoteStore(const Place& place, uint64_t before, uint64_t after);
  // How often any file was synced.
  uint64_t syncs() const { return syncs_; }
  // How often names, sizes or locks have changed.
  uint64_t changes() const { return changes_; }

 private:
  friend class ModelFile;
  friend class ModelMapping;
  friend class ModelDirectory;
  using Inode = std::shared_ptr<ModelInode>;

  size_t Acting() const;
  void NoteCallChange();
  Inode Make(const std::string& name);

  std::map<std::string, Inode> names_;
  std::vector<Inode> inodes_;  // including those without a name: members may have them mapped
  std::array<uint64_t, kMostMembers> asked_{};
  size_t acting_ = 0;
  uint64_t opens_ = 0;
  uint64_t changes_ = 0;
  uint64_t syncs_ = 0;
  uint64_t words_hash_ = 0;
  uint64_t calls_hash_ = 0;
};

}  // namespace durlog::schedules
