const { join } = require('node:path')
const { runSmoke } = require(join(__dirname, 'smoke.cjs'))

const [library, folder] = process.argv.slice(2)
runSmoke(library, folder).then(
  (done) => process.parentPort.postMessage({ done }),
  (error) => process.parentPort.postMessage({ failed: error.stack }),
)
