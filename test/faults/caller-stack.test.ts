/** The stack of an error that is reported after the call has returned. */
import { expect, test } from 'vitest'
import { runUnderShim, shimProblem } from '../fixtures/fault-shim.js'
import { scratchDir } from '../fixtures/scratch.js'

const CHILD = new URL('caller-stack-child.mjs', import.meta.url)
const problem = shimProblem()

interface Rejection {
  call: string
  code: string
  stack: string
}

test.skipIf(problem !== '')(`the stack of each rejection names the caller${problem && ` (${problem})`}`, async () => {
  const folder = scratchDir()
  const { code, stdout, stderr } = await runUnderShim(CHILD, folder, { folder })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const rejections = JSON.parse(stdout) as Rejection[]
  expect(rejections.filter((rejection) => !rejection.code.startsWith('ERR_DURLOG_'))).toEqual([])
  const caller = /^DurlogError: .+\n.*at async callerInThisFile \(.*caller-stack-child\.mjs/s
  expect(rejections.filter(({ stack }) => !caller.test(stack))).toEqual([])
})
