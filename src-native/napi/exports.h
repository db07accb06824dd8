// The functions of the addon that are defined in other files than addon.cc: see `Native` in
// src/native/native.ts.
#pragma once

#include <napi.h>

namespace durlog {

Napi::Value OpenLog(const Napi::CallbackInfo& info);
Napi::Value OpenLogReader(const Napi::CallbackInfo& info);
Napi::Value MakePointReader(const Napi::CallbackInfo& info);
Napi::Value OpenLivePage(const Napi::CallbackInfo& info);
Napi::Value OpenDurableCursor(const Napi::CallbackInfo& info);
Napi::Value ListCursorsOf(const Napi::CallbackInfo& info);
Napi::Value RemoveCursorOf(const Napi::CallbackInfo& info);
Napi::Value PlanRetentionOf(const Napi::CallbackInfo& info);
Napi::Value LockTrimsOf(const Napi::CallbackInfo& info);
Napi::Value LockLogOf(const Napi::CallbackInfo& info);
Napi::Value CheckTrimsOf(const Napi::CallbackInfo& info);
Napi::Value OpenStreamFiles(const Napi::CallbackInfo& info);
Napi::Value SplitJsonText(const Napi::CallbackInfo& info);

}  // namespace durlog
