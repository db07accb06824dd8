#include <algorithm>

#include "platform/windows_directory.h"
#include "platform/windows_error.h"
#include "platform/windows_handle.h"
#include "platform/windows_path.h"
#include "platform/windows_random.h"

namespace durlog {
namespace {

std::string LowerCase(std::string name) {
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return name;
}

// ReFS allocates new blocks if it keeps checksums of the data, and NTFS does so in compressed
// folders.
bool OverwritesInPlace(const std::string& file_system, HANDLE folder) {
  FILE_BASIC_INFO info;
  const bool known = file_system == "ntfs" || file_system == "exfat" || file_system == "fat32";
  return known && GetFileInformationByHandleEx(folder, FileBasicInfo, &info, sizeof info) &&
         (info.FileAttributes & FILE_ATTRIBUTE_COMPRESSED) == 0;
}

// Tries it with a file that is deleted when it is closed.
bool DirectOpens(const std::wstring& folder) {
  const std::wstring name = folder + L"\\.durlog-probe-" + std::to_wstring(SystemRandom64());
  const ScopedHandle file(CreateFileW(name.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE,
                                      FILE_SHARE_DELETE, nullptr, CREATE_NEW,
                                      FILE_FLAG_NO_BUFFERING | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
  return file.valid();
}

}  // namespace

Result<Capabilities> ProbeFolder(HANDLE folder, const std::wstring& wide_path,
                                 const std::string& path) {
  wchar_t name[MAX_PATH + 1] = {};
  if (!GetVolumeInformationByHandleW(folder, nullptr, 0, nullptr, nullptr, nullptr, name,
                                     MAX_PATH + 1)) {
    return WindowsError("GetVolumeInformationByHandleW", GetLastError(), path);
  }
  Capabilities found;
  found.file_system = LowerCase(NarrowFromWide(name));
  found.overwrites_in_place = OverwritesInPlace(found.file_system, folder);
  found.survives_map_faults = false;  // see windows_mapping.h
  found.direct_io = DirectOpens(wide_path);
  FILE_STORAGE_INFO storage;
  if (GetFileInformationByHandleEx(folder, FileStorageInfo, &storage, sizeof storage)) {
    found.direct_alignment = std::max(
        {found.direct_alignment, static_cast<uint32_t>(storage.LogicalBytesPerSector),
         static_cast<uint32_t>(storage.FileSystemEffectivePhysicalBytesPerSectorForAtomicity)});
  }
  // Only volumes on a network provide remote protocol information.
  FILE_REMOTE_PROTOCOL_INFO remote;
  found.shares_maps =
      !GetFileInformationByHandleEx(folder, FileRemoteProtocolInfo, &remote, sizeof remote);
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  found.map_alignment = system.dwAllocationGranularity;  // more than a page
  return found;
}

}  // namespace durlog
