/** Judges a line of a JSON Lines file to which several programs may have appended without a lock. */

export type Damage = 'torn' | 'fused' | 'invalid'

/** The largest number of places in a damaged line that are tried as the beginning of a whole value. */
const MAX_CANDIDATES = 256

/**
 * Returns the damage of a line; undefined if the line is one JSON value. `torn`: it is a part of a value. `fused`: it
 * holds several values, or a part of a value followed by another value.
 */
export function damageOf(line: string): Damage | undefined {
  if (isJson(line)) return undefined
  const end = endOfValue(line)
  if (end === 'incomplete') return holdsWhole(line, 1) ? 'fused' : 'torn'
  if (end !== 'invalid') return /^\s*[[{"]/.test(line.slice(end)) ? 'fused' : 'invalid'
  if (holdsWhole(line, 0)) return 'fused'
  // Torn if it ends an object or an array whose beginning is missing.
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

/** Returns the index after the object, array or string at the beginning of the line. */
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
