// The NativeDurableCursor class of src/native/cursors.ts, and the cursors of a folder.
#pragma once

#include <napi.h>

namespace durlog {

// openDurableCursor(dir, name): Promise<NativeDurableCursor>
Napi::Value OpenDurableCursor(const Napi::CallbackInfo& info);
// listCursors(dir): Promise<NativeCursorSummary[]>
Napi::Value ListCursorsOf(const Napi::CallbackInfo& info);
// removeCursor(dir, name): Promise<void>
Napi::Value RemoveCursorOf(const Napi::CallbackInfo& info);

}  // namespace durlog
