// Links a Windows binary to Node-API without an import library. An import library would bind the binary to the file
// name node.exe, so it could not be loaded by a host with another name: electron.exe, bun.exe, a single-executable
// application. Instead, the binary itself defines the pointers that calls of `__declspec(dllimport)` functions use, and
// fills them when it is loaded.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** Must equal NAPI_VERSION in binding.gyp. */
export const NAPI_VERSION = 8

/** Every function of Node-API up to NAPI_VERSION. */
export function nodeApiSymbols() {
  const { js_native_api_symbols: engine, node_api_symbols: host } =
    require('node-api-headers').symbols[`v${NAPI_VERSION}`]
  return [...new Set([...engine, ...host])].sort()
}

/** The C source that defines and fills the pointers. */
export function windowsImportsSource() {
  const symbols = nodeApiSymbols()
  const pointers = symbols.map((name) => `FARPROC __imp_${name};`).join('\n')
  const rows = symbols.map((name) => `    {"${name}", &__imp_${name}},`).join('\n')
  return `// Made by scripts/prebuilds/windows-imports.mjs.
#include <windows.h>

${pointers}

static const struct {
  const char* name;
  FARPROC* pointer;
} imports[] = {
${rows}
};

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved) {
  (void)instance;
  (void)reserved;
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  // If Node is built as a library, the library exports the functions; otherwise the host's executable does.
  HMODULE host = GetModuleHandleA("libnode.dll");
  if (host == NULL) host = GetModuleHandleA(NULL);
  for (size_t i = 0; i < sizeof(imports) / sizeof(imports[0]); ++i) {
    *imports[i].pointer = GetProcAddress(host, imports[i].name);
    // If a function is missing, the load fails. Otherwise its first call would.
    if (*imports[i].pointer == NULL) return FALSE;
  }
  return TRUE;
}
`
}
