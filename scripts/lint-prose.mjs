// Finds phrases that are hard to understand in documents, comments, test titles and messages, and comments that are wider
// than the formatter's lines. Prints each line with a suggestion. The exit status is 1 if it finds any.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const PATTERNS = [
  [/\b(?:whoever|whomever|nobody|somebody|everybody)\b/i, 'the caller, the process, no process, each member'],
  [/\b(?:is|are|was|were|be|been) told\b|\btold (?:by|of|to|as)\b/i, 'reports, returns, is notified'],
  [/\b(?:record|segment|append|frame|end|one|point|byte)s? (?:behind|in front of)\b/i, 'after, before, the next'],
  [/\bbeside (?:a|an|the|it|them|each|another|one|appends?|syncs?|reads?|others?)\b/i, 'while, during, next to'],
  [/\bwhere (?:there (?:is|are|was)|it (?:is|has|can|was)|they|one|none|nothing|no)\b/i, 'if, when'],
  [/\b(?:one|that|those|process|member|writer|reader|caller)s? who\b/i, 'that, which'],
  [/\b(?:can|could|cannot|may|must|to) be had\b/i, 'is available, can be obtained'],
  [/\bnot get on\b|\bgo(?:es)? on\b|\bwent on\b/i, 'continues, makes progress'],
  [/\bof (?:its|their) own\b/i, 'separate, its own X'],
  [/\b(?:nothing|none) but\b/i, 'only'],
  [/\ball the same\b/i, 'anyway, or nothing'],
  [/(?:^|[.:] |\* |\/\/ |# )What (?:is|was|there|it|a|the|an|comes?|came|has|one|they) [^?]*$/, 'name the thing first'],
]
const SCRIPT = /\/\/ ?(.*)$|^\s*\/?\*+ ?(.*)$|(['"`])(.{12,})\3/
const SHELL = /# ?(.*)$/
/** The formatter wraps no comments. Tables and URLs cannot be wrapped. */
const WIDTH = 120
const UNWRAPPED = /^ *(?:\/\/|\/?\*)(?!.*(?: \| |https?:))/

/** The prose in a line of code: a comment, or a string long enough to be a message or a title. */
function proseOf(line, extension) {
  if (extension === 'md') return line
  const match = (extension === 'sh' ? SHELL : SCRIPT).exec(line)
  return match ? match.slice(1).find((part) => part !== undefined && part.length > 1) : undefined
}

function findings(path) {
  const extension = path.slice(path.lastIndexOf('.') + 1)
  let fenced = false
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (extension === 'md' && line.trimStart().startsWith('```')) fenced = !fenced
      const isWide = line.length > WIDTH && /^m?[tj]s$/.test(extension) && UNWRAPPED.test(line)
      if (isWide) return [`${path}:${index + 1}: ${line.trim()}\n    write: at most ${WIDTH} columns`]
      const prose = fenced ? undefined : proseOf(line, extension)
      if (prose === undefined) return []
      const hit = PATTERNS.find(([pattern]) => pattern.test(prose))
      return hit ? [`${path}:${index + 1}: ${prose.trim()}\n    write: ${hit[1]}`] : []
    })
}

const files = execFileSync('git', ['ls-files', '*.md', '*.ts', '*.mts', '*.mjs', '*.cjs', '*.cc', '*.h', '*.sh'])
const all = files
  .toString()
  .trim()
  .split('\n')
  .filter((path) => path !== 'scripts/lint-prose.mjs')
  .flatMap(findings)
for (const finding of all) console.log(finding)
if (all.length > 0) console.log(`${all.length} lines to reword`)
process.exitCode = all.length > 0 ? 1 : 0
