// Has a log open and executes requests from its parent; answers each with its outcome.
import { open } from '../../dist/index.js'

const { dir, options } = JSON.parse(process.argv[2])
const log = await open(dir, options)

const commands = {
  /** Appends records of `bytes`, one after another. Returns the acknowledged seqs and the code of the first failure. */
  async append({ count, bytes, durability }) {
    const acked = []
    for (let i = 0; i < count; ++i) {
      try {
        acked.push(await log.append('x'.repeat(bytes), { durability }))
      } catch (error) {
        return { acked, code: error.code }
      }
    }
    return { acked, code: '' }
  },
  state: () => ({ recovery: log.recovery.state, nextSeq: log.nextSeq }),
}

process.on('message', async ({ id, command, ...request }) => {
  process.send({ id, answer: await commands[command](request) })
})
process.on('disconnect', () => process.exit())
process.send({ id: 'open', answer: {} })
