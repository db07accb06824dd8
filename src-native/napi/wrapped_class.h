// Classes of JavaScript objects that hold an object of the core.
#pragma once

#include <napi.h>

#include <utility>

#include "napi/convert.h"

namespace durlog {

// The base class of `Wrap`, which must have a kName and a Define() that lists its methods. The
// class is defined once in each environment, because V8 keeps a definition until the environment
// ends.
template <typename Wrap, typename Held>
class Wrapped : public Napi::ObjectWrap<Wrap> {
 public:
  using Napi::ObjectWrap<Wrap>::ObjectWrap;

  // A new object. Empty in a worker that is being terminated: no object can be made there, and
  // calling an empty class would abort.
  static Napi::Value Make(Napi::Env env, Held held) {
    Napi::FunctionReference& defined = env.GetInstanceData<EnvironmentData>()->classes[Wrap::kName];
    if (defined.IsEmpty()) {
      const Napi::Function made = Wrap::Define(env);
      if (made.IsEmpty()) return Napi::Value();
      defined = Napi::Persistent(made);
    }
    const Napi::Function constructor = defined.Value();
    if (constructor.IsEmpty()) return Napi::Value();
    const Napi::Object object = constructor.New({});
    if (!object.IsEmpty()) Wrap::Unwrap(object)->held_ = std::move(held);
    return object;
  }

 protected:
  Held held_;
};

}  // namespace durlog
