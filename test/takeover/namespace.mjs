/**
 * The network namespace of a machine (Linux, root). One link connects its processes with this one. If the link is cut,
 * packets are lost, and no connection is reset.
 */
import { execFileSync } from 'node:child_process'
import process from 'node:process'

const ip = (...args) => execFileSync('ip', args, { stdio: 'pipe' })

export class Namespace {
  #name
  #link
  /** The address of this process on the link. */
  address

  /** `number` distinguishes the namespaces of this process. */
  constructor(number) {
    this.#name = `durlog-${process.pid}-${number}`
    this.#link = `dl${process.pid}-${number}`
    const net = `10.${process.pid % 256}.${number}`
    this.address = `${net}.1`
    ip('netns', 'add', this.#name)
    ip('link', 'add', this.#link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name)
    ip('addr', 'add', `${this.address}/24`, 'dev', this.#link)
    ip('link', 'set', this.#link, 'up')
    ip('-n', this.#name, 'addr', 'add', `${net}.2/24`, 'dev', 'eth0')
    ip('-n', this.#name, 'link', 'set', 'eth0', 'up')
  }

  /** The options of `fork` for a process in the namespace. The channel of its messages is no network. */
  get forkOptions() {
    return { execPath: 'ip', execArgv: ['netns', 'exec', this.#name, process.execPath] }
  }

  cut() {
    ip('link', 'set', this.#link, 'down')
  }

  join() {
    ip('link', 'set', this.#link, 'up')
  }

  /** Removes the namespace, and its link with it, once its processes have ended. */
  remove() {
    ip('netns', 'del', this.#name)
  }
}
