// Journal of several people, from which the data of one person can be erased. Records cannot be changed, so the data of
// each person is encrypted with a key that is kept outside the log. Without the key, the records and all copies are
// unreadable.
//
//   node erase-person.mjs DIR add NAME TEXT      stores a text
//   node erase-person.mjs DIR list               prints what can be read
//   node erase-person.mjs DIR erase NAME         deletes the key of NAME
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { mkdir, open as openFile, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { open } from 'durlog'

const [dir = './journal', command = 'list', name = '', text = ''] = process.argv.slice(2)
const isKnown = command === 'list' || (command === 'add' && text !== '') || (command === 'erase' && name !== '')
if (dir.startsWith('-') || !isKnown) {
  console.error('usage: node erase-person.mjs DIR add NAME TEXT | DIR list | DIR erase NAME')
  process.exit(64)
}
const keys = `${dir}.keys` // must not be in the backups of the log
const KEY_BYTES = 32
const hashOf = (data) => createHash('sha256').update(data).digest('hex')
const keyFile = (person) => join(keys, hashOf(person))

/** The key of a person, which is made and brought to the device if there is none. */
async function keyOf(person) {
  const file = await openFile(keyFile(person), 'a+', 0o600)
  const { size } = await file.stat()
  // A key of another length was being written when the program was killed. No record uses it.
  if (size !== KEY_BYTES) {
    await file.truncate()
    await file.appendFile(randomBytes(KEY_BYTES))
    await file.sync()
  }
  const key = await readFile(keyFile(person))
  await file.close()
  const folder = await openFile(keys)
  await folder.sync() // the name of the file
  await folder.close()
  return key
}

function encrypt(key, value) {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
}

function decrypt(key, base64) {
  const bytes = Buffer.from(base64, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString())
}

await mkdir(keys, { recursive: true, mode: 0o700 })
const log = await open(dir, { encoding: 'json', waitMs: 10_000 })
if (command === 'add') {
  const key = await keyOf(name)
  await log.append({ person: hashOf(name), key: hashOf(key), data: encrypt(key, { name, text }) })
} else if (command === 'erase') {
  await rm(keyFile(name), { force: true })
}
for await (const { seq, value } of log.read()) {
  const key = await readFile(join(keys, value.person)).catch(() => undefined)
  // A person who returns gets another key.
  console.log(seq, key !== undefined && hashOf(key) === value.key ? decrypt(key, value.data).text : 'erased')
}
await log.close()
