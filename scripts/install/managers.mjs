// For each package manager: the command that installs a tarball with all scripts blocked, and the options with which
// Node then finds the package.
import { execFileSync } from 'node:child_process'
import { tool, toolVersion } from './tools.mjs'

/** The Node that runs the package managers: some of them need a recent version. */
const node = () => tool('node24/bin/node')

/** The registry that npm is configured with. */
export function usualRegistry() {
  return execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
}

function yarn4(linker) {
  const registry = usualRegistry()
  return {
    install: () => [node(), tool('yarn4/bin/yarn.js'), 'install', '--no-immutable'],
    files: {
      '.yarnrc.yml': `nodeLinker: ${linker}\nenableScripts: false\nenableGlobalCache: false\nenableTelemetry: false\npnpEnableEsmLoader: true\n`,
      'yarn.lock': '',
    },
    env: { YARN_NPM_REGISTRY_SERVER: registry },
  }
}

const PNP = ['--no-warnings', '--require', './.pnp.cjs', '--experimental-loader', './.pnp.loader.mjs']

/**
 * @typedef {object} Manager
 * @property {string} name the name in the table
 * @property {() => string[]} install the install command
 * @property {Record<string, string>} [files] the project's files other than package.json
 * @property {Record<string, string>} [env]
 * @property {string[]} [nodeOptions]
 * @property {() => string[]} [runtime] the command of the manager's own runtime, if it has one
 * @property {boolean} [fromRegistry] installs from a registry, because the manager cannot install a tarball from a path
 */

/** @type {readonly Manager[]} */
export const MANAGERS = [
  {
    name: `npm ${toolVersion('npm11')}`,
    install: () => [node(), tool('npm11/bin/npm-cli.js'), 'install', '--ignore-scripts'],
  },
  {
    name: `npm ${toolVersion('npm12')}`,
    install: () => [node(), tool('npm12/bin/npm-cli.js'), 'install', '--ignore-scripts'],
  },
  {
    name: `pnpm ${toolVersion('pnpm10')}`,
    install: () => [node(), tool('pnpm10/bin/pnpm.cjs'), 'install', '--ignore-scripts'],
  },
  {
    name: `pnpm ${toolVersion('pnpm12')}`,
    install: () => [tool('pnpm12/pnpm'), 'install', '--ignore-scripts'],
  },
  {
    name: `yarn ${toolVersion('yarn1')}`,
    install: () => [node(), tool('yarn1/bin/yarn.js'), 'install', '--ignore-scripts', '--no-lockfile'],
  },
  { name: `yarn ${toolVersion('yarn4')}, node_modules`, ...yarn4('node-modules') },
  { name: `yarn ${toolVersion('yarn4')}, PnP`, ...yarn4('pnp'), nodeOptions: PNP },
  {
    name: `Bun ${toolVersion('bun')}`,
    install: () => [tool('bun/bin/bun'), 'install', '--ignore-scripts'],
    runtime: () => [tool('bun/bin/bun')],
  },
  {
    name: `Deno ${toolVersion('deno')}`,
    install: () => [tool('deno/deno'), 'install', '--node-modules-dir=auto'],
    runtime: () => [tool('deno/deno'), 'run', '--allow-all', '--quiet'],
    fromRegistry: true,
  },
]
