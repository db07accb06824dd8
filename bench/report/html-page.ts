/** The style sheet of the HTML report, and the escaping of text. */

export interface Page {
  title: string
  head: string
  body: string
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

export const STYLE = `
:root { color-scheme: light dark; --text: #1c1e21; --soft: #667; --page: #fff; --line: #dde; --bar: #bcd6f7; --raw: #f4f4f6 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e6ea; --soft: #99a; --page: #16181c; --line: #34363d; --bar: #24466e; --raw: #1f2126 }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 1100px; margin: 2rem auto; padding: 0 1rem }
h1 { margin: 0 } h2 { margin: 2.5rem 0 .5rem; border-bottom: 2px solid var(--line) } h3 { margin: 1.8rem 0 0; font-size: 1.1rem }
h1, h2, h3, .findings { overflow-wrap: anywhere }
.what { color: var(--soft); margin: .1rem 0 .6rem } nav { margin: 1rem 0 } a { color: inherit }
.machine { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem } .machine dt { color: var(--soft) } .machine dd { margin: 0; overflow-wrap: anywhere }
.findings { padding-left: 1.2rem } .scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100% }
td, th { padding: .15rem .5rem; border-bottom: 1px solid var(--line); text-align: right; font-weight: normal; white-space: nowrap }
thead th { color: var(--soft) } th.label { text-align: left } tr.raw { background: var(--raw); color: var(--soft) }
td.bar { position: relative; min-width: 7rem } td.bar span { position: absolute; right: 0; top: 2px; bottom: 2px; background: var(--bar); border-radius: 2px }
td.bar b { position: relative; font-weight: normal }
.chart { margin: .5rem 0 1rem }
.u-legend { font-size: 12px; text-align: left }
.chart .uplot { display: flex; flex-wrap: wrap; align-items: flex-start; width: 100% }
.chart .u-legend { flex: 1 1 260px; margin: 0 }
.u-legend.u-inline tbody { display: grid; grid-template-columns: minmax(0, 1fr); width: 100% }
.u-legend.u-inline th::after { content: none } .u-legend.u-inline .u-series td { padding-left: .6em }
details { margin: .4rem 0 } summary { color: var(--soft); cursor: pointer } pre { overflow-x: auto; font-size: 12px }
.u-legend td, .u-legend th { border: 0 } .u-legend th { font-weight: normal; color: var(--text) }
/* A sample of the line, dashed if the line is dashed. */
.u-legend .u-marker { width: 2em; height: 0; border-width: 3px 0 0 !important }
/* The place of the pointer has no line, and is shown only while the pointer is in the chart. */
.u-legend .u-series:first-child { order: 1 } .u-legend .u-series:first-child .u-marker { visibility: hidden }
.u-legend .u-series:first-child:has(.u-value:empty) { visibility: hidden }
@media print {
  :root { --text: #000; --soft: #444; --page: #fff; --line: #ccc; --bar: #cfe0f5; --raw: #f4f4f6 }
  body { max-width: none; margin: 0 } nav { display: none } section { break-inside: avoid } h2 { break-after: avoid }
  .scroll { overflow: visible } td.bar span { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
`
