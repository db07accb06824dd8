// A folder that is gone when the test is over, opened through the platform.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "platform/file_system.h"

namespace durlog {

#ifdef _WIN32
inline constexpr bool kKeepsMappedFiles = true;
#else
inline constexpr bool kKeepsMappedFiles = false;
#endif
inline constexpr char kMappedFilesStay[] =
    "not on Windows, which neither removes nor cuts a file that a process has mapped";
inline constexpr char kNoMappedLogs[] = "strategy auto uses only pwrite here";
inline constexpr char kNoPosixRename[] =
    "no POSIX semantics here: Wine 8 has none, nor has Windows before 10 1709";

class PlatformTest : public testing::Test {
 protected:
  PlatformTest() {
    root_ =
        testing::TempDir() + "durlog-platform-" + std::to_string(DefaultFileSystem().Random64());
    if (!std::filesystem::create_directory(root_)) std::abort();
    Result<std::unique_ptr<Directory>> opened = DefaultFileSystem().OpenDirectory(root_, false);
    if (!opened.ok()) std::abort();
    folder_ = std::move(opened.value());
  }
  ~PlatformTest() override {
    folder_.reset();  // an open folder cannot be removed everywhere
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  std::string PathOf(const std::string& name) const {
    return root_ + static_cast<char>(std::filesystem::path::preferred_separator) + name;
  }

  static Code OpenFolderCode(const std::string& path, bool create) {
    return DefaultFileSystem().OpenDirectory(path, create).status().code();
  }

  // A new file of `size` bytes that are allocated and zero.
  std::unique_ptr<File> MakeFile(const std::string& name, uint64_t size = 0) {
    Result<std::unique_ptr<File>> file = folder_->Open(name, OpenMode::kCreateNew);
    if (!file.ok()) std::abort();
    const std::string zeros(static_cast<size_t>(size), '\0');
    if (!(*file)->WriteAt(0, zeros.data(), zeros.size()).ok()) std::abort();
    return std::move(file.value());
  }

  std::string root_;
  std::unique_ptr<Directory> folder_;
};

}  // namespace durlog
