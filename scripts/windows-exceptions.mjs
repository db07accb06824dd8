// What `npm run test:windows` does not run, and what Wine cannot do. A test that fails on Windows itself does not belong here.

/** Files, by the beginning of their path, that are about another system. */
export const NOT_FOR_WINDOWS = [
  { files: 'test/faults/', reason: 'faults are injected into Linux: loop devices, tmpfs, a preloaded library' },
]

/** Tests that fail for a reason of Wine 8's. */
export const NOT_UNDER_WINE = [
  {
    file: 'test/damage.test.ts',
    test: /link/,
    reason: "Wine follows a link of Linux' without showing that it is one",
  },
  {
    file: 'test/lifecycle.test.ts',
    test: /a thousand opens and closes/,
    reason: "Wine shows Linux' /proc, and a thousand opens take it longer than a test has",
  },
]
