// The folders that hold the files of streams, and the reading of these files.
#pragma once

#include <napi.h>

#include <memory>

#include "platform/file_system.h"

namespace durlog {

struct StreamFolders {
  std::unique_ptr<Directory> records;
  std::unique_ptr<Directory> index;
};

// See `readBody` in src/native/stream-files.ts.
Napi::Value ReadStreamBody(const Napi::CallbackInfo& info, std::shared_ptr<StreamFolders> folders);

}  // namespace durlog
