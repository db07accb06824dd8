/** Servers for durable appends over HTTP, each in a separate process: durlog's, and those with which it is compared. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from './package-root.js'
import { whenEnding } from './scratch.js'

const PEERS = join(PACKAGE_ROOT, 'bench/peers')
const RUST_SERVER = join(PEERS, 'cargo/bin/durable-streams-server')
const CHILD = fileURLToPath(new URL('./http-child.js', import.meta.url))
const START_MS = 20_000
/** The length of a clock tick in /proc. */
const TICK_US = 10_000

export interface HttpServer {
  name: string
  /** The time of its response, for the table. */
  answers: string
  /** Whether it implements the Durable Streams protocol, in which streams must be created first. */
  hasStreams: boolean
  /** The file that must exist, and the command that installs it. */
  needs?: { path: string; by: string }
  command(folder: string, port: number): [string, ...string[]]
}

const child = (kind: string) => (folder: string, port: number) =>
  [process.execPath, CHILD, kind, folder, String(port)] as [string, ...string[]]

export const httpServers: readonly HttpServer[] = [
  { name: 'bare node:http', answers: 'at once; no storage', hasStreams: false, command: child('bare') },
  { name: 'node:http and one log', answers: 'after append at sync', hasStreams: false, command: child('log') },
  {
    name: 'durlog serve',
    answers: 'after append at sync',
    hasStreams: true,
    command: (folder, port) => {
      const main = join(PACKAGE_ROOT, 'dist/cli/main.js')
      return [process.execPath, main, 'serve', join(folder, 'streams'), '--port', String(port)]
    },
  },
  {
    name: 'durlog, cluster of two processes',
    answers: 'after append at sync',
    hasStreams: true,
    command: child('cluster'),
  },
  {
    name: 'durable-streams 0.1.5 (Rust)',
    answers: 'after fdatasync of its WAL',
    hasStreams: true,
    needs: {
      path: RUST_SERVER,
      by: 'cargo install --locked --root bench/peers/cargo durable-streams@0.1.5',
    },
    command: (folder, port) => [RUST_SERVER, '--port', String(port), '--data-dir', join(folder, 'data')],
  },
  {
    name: '@durable-streams/server 0.3.7',
    answers: 'file-backed',
    hasStreams: true,
    needs: { path: join(PEERS, 'node_modules/@durable-streams/server'), by: 'npm ci --prefix bench/peers' },
    command: child('reference'),
  },
]

/** The baseline of catch-up reads. Its folder must have the file `file`. */
export const fileServer: HttpServer = {
  name: 'fs.createReadStream',
  answers: 'from a file',
  hasStreams: false,
  command: child('file'),
}

export function isAvailable({ needs }: HttpServer): boolean {
  return needs === undefined || existsSync(needs.path)
}

export class RunningServer {
  readonly port: number
  readonly #process: ChildProcess
  readonly #forget: () => void

  private constructor(port: number, running: ChildProcess) {
    this.port = port
    this.#process = running
    this.#forget = whenEnding(() => running.kill('SIGKILL'))
  }

  /** Starts a server. Resolves when it accepts connections. */
  static async start(server: HttpServer, folder: string): Promise<RunningServer> {
    const port = await freePort()
    const [command, ...args] = server.command(folder, port)
    const running = spawn(command, args, { stdio: 'ignore' })
    const started = new RunningServer(port, running)
    const giveUpMs = Date.now() + START_MS
    while (!(await accepts(port))) {
      if (running.exitCode !== null || Date.now() > giveUpMs) {
        await started.stop()
        throw new Error(`${server.name} does not listen: ${command} ${args.join(' ')}`)
      }
      await pause(50)
    }
    return started
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /**
   * The processor time that the server and its child processes have used, in microseconds. NaN on systems without
   * /proc.
   */
  processorUs(): number {
    try {
      return ticksOf(String(this.#process.pid)) * TICK_US
    } catch {
      return Number.NaN
    }
  }

  async stop(): Promise<void> {
    this.#forget()
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }
}

/** Returns the processor time of a process and its child processes, in clock ticks. */
function ticksOf(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + ticksOf(child), Number(fields[11]) + Number(fields[12]))
}

async function freePort(): Promise<number> {
  const server: Server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
