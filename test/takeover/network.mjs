/**
 * Hosts in network namespaces (Linux, root), on one bridge with this process. Packets between two hosts that are
 * separated are lost, and no connection is reset.
 */
import { execFileSync } from 'node:child_process'
import process from 'node:process'

const ip = (...args) => execFileSync('ip', args, { stdio: 'pipe' })
/** No host has this address. */
const NOWHERE = '02:00:00:00:00:01'

export class Network {
  #names
  #bridge = `dl${process.pid}`
  #net = `10.${(process.pid >> 8) % 256}.${process.pid % 256}`

  /** `names`: the hosts, each in a namespace. In the calls below, this process has the name undefined. */
  constructor(names) {
    this.#names = names
    ip('link', 'add', this.#bridge, 'type', 'bridge')
    ip('addr', 'add', `${this.addressOf()}/24`, 'dev', this.#bridge)
    ip('link', 'set', this.#bridge, 'up')
    for (const name of names) {
      const link = `${this.#bridge}-${name}`
      ip('netns', 'add', this.#namespaceOf(name))
      ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#namespaceOf(name))
      ip('link', 'set', link, 'master', this.#bridge, 'up')
      ip('-n', this.#namespaceOf(name), 'addr', 'add', `${this.addressOf(name)}/24`, 'dev', 'eth0')
      ip('-n', this.#namespaceOf(name), 'link', 'set', 'eth0', 'up')
    }
  }

  addressOf(name) {
    return `${this.#net}.${name === undefined ? 1 : this.#names.indexOf(name) + 2}`
  }

  /** The command that runs another one at a host. The channel of messages of `fork` is no network. */
  commandOf(name) {
    return ['ip', 'netns', 'exec', this.#namespaceOf(name)]
  }

  separate(a, b) {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ])
      this.#neighbour(from, 'replace', this.addressOf(to), 'lladdr', NOWHERE, 'nud', 'permanent')
  }

  /** Has no effect on hosts that are not separated. */
  join(a, b) {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ])
      this.#neighbour(from, 'flush', 'to', this.addressOf(to), 'nud', 'permanent')
  }

  /** Removes the namespaces, and their links with them, once their processes have ended. */
  remove() {
    for (const name of this.#names) ip('netns', 'del', this.#namespaceOf(name))
    ip('link', 'del', this.#bridge)
  }

  #neighbour(name, ...args) {
    const [place, device] = name === undefined ? [[], this.#bridge] : [['-n', this.#namespaceOf(name)], 'eth0']
    ip(...place, 'neigh', ...args, 'dev', device)
  }

  #namespaceOf(name) {
    return `durlog-${process.pid}-${name}`
  }
}
