// Classes of JavaScript objects that hold an object of the core.
#pragma once

#include <napi.h>

#include "napi/convert.h"

namespace durlog {

// A new object of class `Wrap`, whose JavaScript object is its Value(). The class is defined once
// in each environment: V8 keeps a definition until the environment ends. Null in a worker that is
// being terminated: no object can be made there, and calling an empty class would abort.
template <typename Wrap>
Wrap* NewWrapped(Napi::Env env) {
  Napi::FunctionReference& defined = env.GetInstanceData<EnvironmentData>()->classes[Wrap::kName];
  if (defined.IsEmpty()) {
    const Napi::Function made = Wrap::Define(env);
    if (made.IsEmpty()) return nullptr;
    defined = Napi::Persistent(made);
  }
  const Napi::Function constructor = defined.Value();
  if (constructor.IsEmpty()) return nullptr;
  const Napi::Object object = constructor.New({});
  return object.IsEmpty() ? nullptr : Wrap::Unwrap(object);
}

}  // namespace durlog
