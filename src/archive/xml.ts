/** Reads the few elements of a store's XML that the archive needs. The time for any text grows only with its length. */

/** Returns the contents of the elements `name` in `xml`, none of which holds another element of that name. */
export function elementsOf(xml: string, name: string): string[] {
  const found: string[] = []
  for (const part of xml.split(`<${name}>`).slice(1)) {
    const end = part.indexOf(`</${name}>`)
    if (end !== -1) found.push(part.slice(0, end))
  }
  return found
}

/** Returns the text of the first element `name` in `xml`; undefined if it holds other elements. */
export function textOf(xml: string, name: string): string | undefined {
  const begin = xml.indexOf(`<${name}>`) + name.length + 2
  const end = xml.indexOf('<', begin)
  if (begin < name.length + 2 || !xml.startsWith(`</${name}>`, end)) return undefined
  return xml
    .slice(begin, end)
    .replace(
      /&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});/g,
      (whole, entity: string) => characterOf(entity) ?? whole,
    )
}

function characterOf(entity: string): string | undefined {
  const named = ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as Record<string, string>)[entity]
  if (named !== undefined) return named
  const number = entity.startsWith('#x') ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1))
  return number <= 0x10ffff ? String.fromCodePoint(number) : undefined
}
