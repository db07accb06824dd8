/** Load over HTTP by wrk: POSTs of one body to several paths in turn, over persistent connections. */
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
  /** The number of requests without a response, or with a status of 400 or above. */
  failed: number
}

export function isWrkInstalled(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined
}

/** Returns a script for wrk. It formats the requests only once, and prints the counts in its last line. */
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

/** Writes the script into `folder`. Resolves to a function that runs the load for a whole number of seconds. */
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
