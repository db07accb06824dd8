// The functions that the C++ runtime calls between a throw and a catch, if nothing is caught.
// libc++ is compiled with exceptions, the core without: a throw of libc++ can only end the process.
// libc++abi and libunwind come to the same end, with a twentieth of the addon in unwinding code.
//
// The linker takes an object of an archive only for a symbol that is missing, so each symbol that
// libc++ needs of theirs is here; one too few is an error of the link.
#include <__memory/aligned_alloc.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace {

// Static: memory may be what is missing.
alignas(std::max_align_t) unsigned char thrown[1024];

[[noreturn]] void Stop(const char* reason) {
  std::fprintf(stderr, "durlog: uncaught C++ exception: %s\n", reason);
  std::abort();
}

}  // namespace

// libc++ makes these of a throw and a catch. Its operator delete frees what they return.
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return std::__libcpp_aligned_alloc(static_cast<size_t>(alignment), size);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return std::__libcpp_aligned_alloc(static_cast<size_t>(alignment), size);
}

namespace std {

void terminate() noexcept { Stop("terminated"); }
new_handler get_new_handler() noexcept { return nullptr; }

}  // namespace std

extern "C" {

void* __cxa_allocate_exception(size_t) { return thrown; }
void __cxa_free_exception(void*) {}
// All that libc++ throws is a std::exception, without another base before it.
void __cxa_throw(void* exception, void*, void (*)(void*)) {
  Stop(static_cast<std::exception*>(exception)->what());
}

// Not reached: nothing is caught, and nothing holds an exception.
void* __cxa_init_primary_exception(void* exception, void*, void (*)(void*)) { return exception; }
void* __cxa_begin_catch(void* exception) { return exception; }
void* __cxa_get_exception_ptr(void* exception) { return exception; }
void* __cxa_current_primary_exception() { return nullptr; }
void __cxa_increment_exception_refcount(void*) {}
void __cxa_decrement_exception_refcount(void*) {}
void __cxa_rethrow_primary_exception(void*) {}
unsigned __cxa_uncaught_exceptions() { return 0; }
void __cxa_end_catch() {}
void __cxa_rethrow() { std::terminate(); }
void __cxa_call_terminate(void*) { std::terminate(); }
void _Unwind_Resume(void*) { std::terminate(); }

// Named by libc++'s unwind tables, on Windows the second.
int __gxx_personality_v0() { std::terminate(); }
int __gxx_personality_seh0() { std::terminate(); }
}
