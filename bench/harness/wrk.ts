/** Load over HTTP by wrk: POSTs of one body to several paths in turn, over connections that are kept. */
import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface WrkLoad {
  port: number
  paths: readonly string[]
  contentType: string
  body: string
  connections: number
}

export interface WrkResult {
  requests: number
  elapsedUs: number
  /** Requests without an answer, or with one of 400 and above. */
  failed: number
}

export function isWrkInstalled(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined
}

/** A script of wrk: its requests are made once, and its last line of output has the counts. */
function scriptOf({ paths, contentType, body }: WrkLoad): string {
  return `
local paths = { ${paths.map((path) => JSON.stringify(path)).join(', ')} }
local requests, at = {}, 0
init = function()
  for i, path in ipairs(paths) do
    requests[i] = wrk.format("POST", path, { ["Content-Type"] = ${JSON.stringify(contentType)} }, [==[${body}]==])
  end
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
done = function(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format("%d %d %d\\n", summary.requests, summary.duration, failed))
end
`
}

/** Writes the script into `folder`; the function that it resolves to runs the load for whole seconds. */
export async function prepareWrk(folder: string, load: WrkLoad): Promise<(seconds: number) => Promise<WrkResult>> {
  const script = join(folder, `post-${load.port}.lua`)
  await writeFile(script, scriptOf(load))
  return async (seconds) => {
    const url = `http://127.0.0.1:${load.port}/`
    const args = ['-t1', `-c${load.connections}`, `-d${seconds}s`, '-s', script, url]
    const { stdout } = await promisify(execFile)('wrk', args)
    const [requests = 0, elapsedUs = 0, failed = 0] = (stdout.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
    return { requests, elapsedUs, failed }
  }
}
