// Node-API for a Windows binary without an import library. An import library binds the binary to one file name,
// node.exe, and fails if the host has another name: electron.exe, bun.exe, a single-executable application. Here the
// pointers that `__declspec(dllimport)` calls go through are defined in the binary itself and filled when it is loaded.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** As NAPI_VERSION in binding.gyp. */
export const NAPI_VERSION = 8

/** Every function of Node-API up to the version that the addon asks for. */
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
  // A Node built as a library has its functions there; every other host exports them itself.
  HMODULE host = GetModuleHandleA("libnode.dll");
  if (host == NULL) host = GetModuleHandleA(NULL);
  for (size_t i = 0; i < sizeof(imports) / sizeof(imports[0]); ++i) {
    *imports[i].pointer = GetProcAddress(host, imports[i].name);
    // The load fails, and not the first call.
    if (*imports[i].pointer == NULL) return FALSE;
  }
  return TRUE;
}
`
}
