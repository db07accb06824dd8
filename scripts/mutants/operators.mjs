// The operators that make mutants. Each operator makes at most one change to a line.

const BOUNDARIES = { ' < ': ' <= ', ' <= ': ' < ', ' > ': ' >= ', ' >= ': ' > ' }

/** Operators for both TypeScript and C++. */
const SHARED = [
  ['boundary', / <= | >= | < | > /, (text) => BOUNDARIES[text]],
  ['logic', / && | \|\| /, (text) => (text === ' && ' ? ' || ' : ' && ')],
  ['arithmetic', / \+ | - /, (text) => (text === ' + ' ? ' - ' : ' + ')],
  ['boolean', /\btrue\b|\bfalse\b/, (text) => (text === 'true' ? 'false' : 'true')],
  ['increment', /\+\+|(?<=\w)--/, (text) => (text === '++' ? '--' : '++')],
]

const TYPESCRIPT = [
  ['equality', / === | !== /, (text) => (text === ' === ' ? ' !== ' : ' === ')],
  ['extreme', /Math\.(min|max)/, (text) => (text === 'Math.min' ? 'Math.max' : 'Math.min')],
  ['condition', /^(\s*(?:\} else )?if \()(.*)(\) .*)$/, (_text, before, test, after) => `${before}!(${test})${after}`],
  ['call', /^(\s*)((?:await |void )?(?:this|[a-z]\w*)[\w.#?]*\(.*\))$/, (_text, indent) => `${indent}void 0`],
]

const CPP = [
  ['equality', / == | != /, (text) => (text === ' == ' ? ' != ' : ' == ')],
  ['extreme', /std::(min|max)\b/, (text) => (text === 'std::min' ? 'std::max' : 'std::min')],
  // Conditions that declare a variable are left out: their negation does not compile.
  [
    'condition',
    /^(\s*(?:\} else )?if \()([^;{]*)(\) (?:return|continue|break|\{).*)$/,
    (_text, before, test, after) => `${before}!(${test})${after}`,
  ],
  ['call', /^(\s*)(?:\w[\w.]*(?:(?:->|::)\w+)*)\(.*\);$/, (_text, indent) => `${indent};`],
]

function isTypescriptCode(line) {
  return (
    !/^\s*(\/\/|\/\*|\*|import |export (type|interface)|type |interface |throw |\|)/.test(line) &&
    !/['"`].* (in|of|to|the) .*['"`]/.test(line)
  )
}

function isCppCode(line) {
  return !/^\s*(\/\/|\/\*|\*|#|using |namespace |template|static_assert|struct |class |enum |return Status::)/.test(
    line,
  )
}

const LANGUAGES = {
  ts: { operators: [...SHARED, ...TYPESCRIPT], isCode: isTypescriptCode },
  cc: { operators: [...SHARED, ...CPP], isCode: isCppCode },
}

/** Every mutant of the file `file` with the content `text`: `line` counts from 0. */
export function mutantsOf(file, text) {
  const { operators, isCode } = LANGUAGES[file.split('.').at(-1)]
  const found = []
  for (const [line, before] of text.split('\n').entries()) {
    if (!isCode(before)) continue
    for (const [operator, pattern, change] of operators) {
      const changed = before.replace(pattern, change)
      if (changed !== before) found.push({ file, line, operator, changed })
    }
  }
  return found
}
