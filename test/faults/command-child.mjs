// Under fault_shim.c: runs the command `durlog` while one system call fails.
import { arm } from './shim.mjs'

const { args, fault } = JSON.parse(process.argv[2])
arm(fault)
const main = new URL('../../dist/cli/main.js', import.meta.url)
process.argv = [process.argv[0], main.pathname, ...args]
await import(main.href)
