/** Judges a line of a JSON Lines file that programs without locks have appended to. */

export type Damage = 'torn' | 'fused' | 'invalid'

/** Places in a damaged line where a whole value may begin. */
const MAX_CANDIDATES = 256

/** Undefined if the line is one JSON value. Torn: a part of a value. Fused: more than one value, or a part of one before another. */
export function damageOf(line: string): Damage | undefined {
  if (isJson(line)) return undefined
  const end = endOfValue(line)
  if (end === 'incomplete') return holdsWhole(line, 1) ? 'fused' : 'torn'
  if (end !== 'invalid') return /^\s*[[{"]/.test(line.slice(end)) ? 'fused' : 'invalid'
  if (holdsWhole(line, 0)) return 'fused'
  // The end of an object or an array whose beginning is missing.
  return /[\]}]\s*$/.test(line) && !/^\s*[[{]/.test(line) ? 'torn' : 'invalid'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether an object begins at or after `from` and ends with the line. */
function holdsWhole(line: string, from: number): boolean {
  let candidates = 0
  for (let at = line.indexOf('{', from); at !== -1 && candidates++ < MAX_CANDIDATES; at = line.indexOf('{', at + 1))
    if (at > 0 && /^\{\s*["}]/.test(line.slice(at, at + 64)) && isJson(line.slice(at))) return true
  return false
}

/** Where the object, array or string at the beginning of the line ends. */
function endOfValue(line: string): number | 'incomplete' | 'invalid' {
  const start = line.search(/\S/)
  if (!'{["'.includes(line[start] ?? ' ')) return 'invalid'
  const open: string[] = []
  let inString = false
  for (let at = start; at < line.length; at++) {
    const character = line[at] as string
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') open.push(character)
    else if (character === '}' || character === ']') {
      if (open.pop() !== (character === '}' ? '{' : '[')) return 'invalid'
    }
    if (open.length === 0 && !inString) return isJson(line.slice(start, at + 1)) ? at + 1 : 'invalid'
  }
  return 'incomplete'
}
