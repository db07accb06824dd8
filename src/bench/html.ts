import type { Report } from './report.js'
export async function renderHtml(_: Report): Promise<string> {
  return ''
}
