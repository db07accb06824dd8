// The folders that hold the files of streams, and the reading of these files.
#pragma once

#include <napi.h>

#include <memory>

#include "platform/file_system.h"
#include "streams/stream_file_reader.h"

namespace durlog {

struct StreamFolders {
  std::unique_ptr<Directory> records;
  std::unique_ptr<Directory> index;
};

// See `readBody` and `readStored` in src/native/stream-files.ts.
Napi::Value ReadStreamFile(const Napi::CallbackInfo& info, std::shared_ptr<StreamFolders> folders,
                           RecordForm form);

}  // namespace durlog
