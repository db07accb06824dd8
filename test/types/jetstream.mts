// How an ES module sees durlog/jetstream: checked, not run.
import { open } from 'durlog'
import { type RestoreOptions, restore, type ShipOptions, type Shipper, ship } from 'durlog/jetstream'

const options: ShipOptions = { servers: 'localhost', stream: 'ORDERS', subject: 'orders' }
const shipper: Shipper = ship(await open('dir'), options)
shipper.on('error', (error) => error.code)
await shipper.close()
const back: RestoreOptions = { servers: 'localhost', stream: 'ORDERS', subject: 'orders' }
await restore('dir', back)
