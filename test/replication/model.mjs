/**
 * A model of the replication to an archive: the writer, two standbys and, if asked, a second archiver of the writer's
 * log. It explores every order of their requests, with appends and a rotation at any moment. Up to `faults` requests
 * are stored without an answer, or arrive at any later time. In every state, a restore must deliver each acknowledged
 * record, and no writer stores more than one part in a session after a gate was closed: here, it passes a gate
 * before each part but the first. The steps are those of src/archive: position.ts, archive-destination.ts, fence.ts,
 * gates.ts, take-over.ts.
 *
 * States that differ only in what no later step reads are explored once (`keyOf`). An append is made directly before a
 * step that may read it (`#isLogRead`), and a late request that would be refused at any time is dropped (`#isRefused`).
 * With two standbys and several faults there are too many states nevertheless: random paths are explored instead.
 *
 *   node test/replication/model.mjs
 */
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { randomFrom } from '../crash/payload.mjs'

/** Changes of the protocol, each of which must lose an acknowledged record. */
export const BROKEN = [
  'no claim',
  'claim after the first append',
  'a late upload wins',
  'a fence is looked for only at the next seq',
]
/** A change that must lose a record if a standby completes the claim of another one, which has died. */
export const BROKEN_FORCE = 'a claim is completed at the end that was listed'
/** A change that must lose a record while a writer replaces the parts of a segment. */
export const BROKEN_WHOLE = 'parts are deleted before the whole segment is stored'
/** A change that must let a writer upload without end while a copy claims the next generation. */
export const STARVING = 'a writer passes closed gates'

/** The members of an object, in the order of their names. */
function sorted(object) {
  const found = []
  for (const name of Object.keys(object).sort()) if (object[name] !== undefined) found.push([name, object[name]])
  return found
}

/** Restores the history of `generation`: its records up to its end. `seen` are the objects that a list has shown. */
function contentOf(seen, generation) {
  const history = seen[`h${generation}`]
  const from = generation === 0 ? 0 : history.from
  const records = generation === 0 ? [] : contentOf(seen, history.parent).slice(0, from)
  if (records.length < from) return records
  for (;;) {
    const seq = records.length
    const covers = ([key, { first, records: own }]) =>
      own !== undefined &&
      /^[lt]/.test(key) &&
      key.startsWith(`${key[0]}${generation}/`) &&
      first <= seq &&
      first + own.length > seq
    const found = sorted(seen).filter(covers)
    const piece = (found.find(([key]) => key[0] === 'l') ?? found[0])?.[1]
    if (piece === undefined) return records
    records.push(...piece.records.slice(seq - piece.first))
  }
}

const generationsIn = (seen) =>
  Object.keys(seen)
    .filter((key) => key[0] === 'h')
    .map((key) => Number(key.slice(1)))
const gatesIn = (seen, generation) =>
  Object.entries(seen)
    .filter(([key]) => key.startsWith(`g${generation}/`))
    .map(([key, { owner }]) => ({ number: Number(key.slice(key.indexOf('/') + 1)), owner }))
    .sort((one, other) => one.number - other.number)
const newestIn = (seen) => Math.max(0, ...generationsIn(seen))
const fencesIn = (seen, generation) =>
  Object.entries(seen).filter(([key, { owner }]) => key.startsWith(`t${generation}/`) && owner !== undefined)

/** The keys of the parts that begin before seq `end`. */
const partsIn = (seen, generation, end) =>
  Object.entries(seen)
    .filter(([key, { records, first }]) => key.startsWith(`t${generation}/`) && records !== undefined && first < end)
    .map(([key]) => key)

/**
 * The members of an actor that a later step may read. A session that ends lists the store again, and reads nothing that
 * the session before has found. `isRead`: the second archiver reads the log of the writer.
 */
function liveIn(actor, isRead) {
  const { id, role, pc, replaces, seen, ...own } = actor
  if (pc === 'fenced' && !isRead) return sorted({ id, pc, replaces })
  if (role === 'writer') own.parent = undefined
  if (pc === 'list' || pc === 'list2') {
    const forgotten = role === 'standby' ? ['parent', 'helps', 'closes'] : ['next', 'gate', 'mayStore', 'afterGate']
    for (const name of forgotten) own[name] = undefined
  }
  return sorted({ id, role, pc, replaces, seen: seen && sorted(seen), ...own })
}

/** Equal for two states from which the same steps lead to the same results. */
function keyOf({ actors, store, late, acknowledged, faults, doubled }) {
  const isRead = actors.some(({ role }) => role === 'archiver')
  const live = actors.map((actor) => liveIn(actor, isRead && actor.id === 0))
  const arriving = late.map((request) => JSON.stringify(request)).sort()
  return JSON.stringify([live, sorted(store), arriving, acknowledged, faults, doubled])
}

/** The objects of the store never change. */
function copyOf(state) {
  const { actors, store, late, acknowledged } = state
  const own = actors.map((actor) => ({
    ...actor,
    ...(actor.log && { log: [...actor.log] }),
    ...(actor.replaces && { replaces: { ...actor.replaces } }),
    seen: actor.seen && { ...actor.seen },
  }))
  return { ...state, actors: own, store: { ...store }, late: [...late], acknowledged: [...acknowledged] }
}

class Explorer {
  states = 0
  takeovers = 0
  #visited = new Set()
  #limits
  #broken

  constructor(limits, broken) {
    this.#limits = limits
    this.#broken = broken
  }

  #first() {
    const writer = {
      id: 0,
      role: 'writer',
      generation: 0,
      log: [],
      sealed: 0,
      rotations: 0,
      made: 0,
      pc: 'list',
      next: 0,
      whole: 0,
    }
    const actors = [writer]
    for (let id = 1; id <= this.#limits.standbys; id++) actors.push({ id, role: 'standby', log: [], pc: 'list' })
    if (this.#limits.archivers)
      actors.push({ id: 9, role: 'archiver', of: 0, generation: 0, pc: 'list', next: 0, whole: 0 })
    const { faults, isListed } = this.#limits
    if (!isListed) return { actors, store: {}, late: [], acknowledged: [], faults }
    // A record is replicated, and each standby has listed it.
    const log = ['0.0']
    Object.assign(writer, { log, made: 1, pc: 'ready', next: 1 })
    for (const standby of actors.slice(1)) Object.assign(standby, { log: [...log], parent: 0, pc: 'claim' })
    return { actors, store: { 't0/0': { first: 0, records: log } }, late: [], acknowledged: [...log], faults }
  }

  /** Returns the first broken promise, with the steps that lead to it; undefined if every state keeps all promises. */
  run() {
    // The shortest paths first, so that a failure has few steps.
    let level = []
    const reach = (state, steps) => {
      // An object that is never deleted refuses every later one with its name.
      state.late = state.late.filter(({ key, object }) => !this.#isRefused(state.store[key], key, object))
      const key = createHash('md5').update(keyOf(state)).digest('latin1')
      if (this.#visited.has(key)) return
      this.#visited.add(key)
      level.push({ state, steps })
    }
    reach(this.#first(), undefined)
    while (level.length > 0) {
      const reached = level
      level = []
      for (const { state, steps } of reached) {
        this.states++
        const failure = this.#check(state)
        if (failure !== undefined) return `${failure}\n${stepsOf(steps).join('\n')}`
        this.#expand(state, (text, next) => reach(next, { text, before: steps }))
      }
    }
    return undefined
  }

  /** As `run`, for the states on `paths` random paths. */
  walk(paths, random) {
    for (let path = 0; path < paths; path++) {
      let [state, steps] = [this.#first(), undefined]
      // Standbys may list the store without end.
      for (let length = 0; length < LONGEST_PATH; length++) {
        this.states++
        const failure = this.#check(state)
        if (failure !== undefined) return `${failure}\n${stepsOf(steps).join('\n')}`
        const following = []
        this.#expand(state, (text, next) => following.push({ state: next, steps: { text, before: steps } }))
        if (following.length === 0) break
        ;({ state, steps } = following[Math.floor(random() * following.length)])
      }
    }
    return undefined
  }

  #check({ actors, store, acknowledged, doubled }) {
    if (doubled !== undefined) return doubled
    const busy = actors.find(({ afterGate }) => afterGate > 1)
    if (busy !== undefined) return `${busy.id} has stored ${busy.afterGate} parts after a gate was closed`
    const content = contentOf(store, newestIn(store))
    const at = acknowledged.findIndex((text, seq) => text !== null && content[seq] !== text)
    return at === -1
      ? undefined
      : `record ${at} was acknowledged as ${acknowledged[at]}, and is restored as ${content[at]}`
  }

  #expand(state, emit) {
    const fork = (text, change) => {
      const next = copyOf(state)
      change(next)
      emit(text, next)
    }
    for (const [at, { key }] of state.late.entries())
      fork(`late ${key}`, (next) => {
        const [{ key, object }] = next.late.splice(at, 1)
        this.#apply(next, key, object)
      })
    for (const [at, actor] of state.actors.entries())
      this.#stepsOf(actor, (text, step) => fork(`${actor.id} ${text}`, (next) => step(next, next.actors[at])), state)
  }

  #stepsOf(actor, fork, state) {
    const { role, pc, made, rotations, log, sealed } = actor
    if (role === 'writer' && this.#isLogRead(actor, state)) {
      if (made < this.#limits.records[actor.id === 0 ? 0 : 1])
        fork('appends', (_, own) => own.log.push(`${own.id}.${own.made++}`))
      if (rotations < this.#limits.rotations && log.length > sealed)
        fork('rotates', (_, own) => {
          own.sealed = own.log.length
          own.rotations++
        })
    }
    if (actor.replaces !== undefined) this.#replaceParts(actor, fork, state)
    if (pc === 'fenced') return
    if (role === 'standby') this.#standby(actor, fork, state)
    else this.#archiver(actor, fork, state)
  }

  /**
   * Whether the next step of a process may read the log of a writer. Appends and rotations before that are made at that
   * moment: no other step depends on them. If a second archiver reads the log, also those of a writer that is fenced.
   */
  #isLogRead({ id, pc }, { actors }) {
    return (
      pc === 'ready' || actors.some((actor) => actor.role === 'archiver' && actor.of === id && actor.pc === 'ready')
    )
  }

  /** A conditional creation of an object, with its faults. `then` gets whether the object was created. */
  #put(fork, state, key, object, then) {
    fork(`PUT ${key}`, (next, own) => then(this.#apply(next, key, object), next, own))
    if (state.faults === 0) return
    // If it arrives at once, its answer was lost.
    fork(`PUT ${key}, which arrives later`, (next, own) => {
      next.late.push({ key, object })
      next.faults--
      if (own.replaces?.key === key) own.replaces = undefined
      this.#endSession(next, own, 'list')
    })
  }

  #apply({ store }, key, object) {
    if (store[key] !== undefined && !this.#overwrites(object)) return false
    store[key] = object
    return true
  }

  #overwrites({ records }) {
    return this.#broken === 'a late upload wins' && records !== undefined
  }

  /** Whether `found`, the object with this key, is never deleted, and refuses `object`. */
  #isRefused(found, key, object) {
    const isPart = key[0] === 't' && found?.records !== undefined
    return found !== undefined && !isPart && !this.#overwrites(object)
  }

  /** Lists the parts, then the segments, as two requests, and continues at `pc` with what they have shown. */
  #list(actor, fork, pc, after) {
    const shows = (text, at, pick) =>
      fork(`lists ${text}`, (next, own) => {
        own.seen ??= {}
        for (const [key, object] of Object.entries(next.store)) if (pick(key)) own.seen[key] = object
        own.pc = at
        if (at === pc) after(own, next)
      })
    if (actor.pc.endsWith('list')) shows('histories and parts', `${actor.pc}2`, (key) => key[0] !== 'l')
    else shows('segments', pc, (key) => key[0] === 'l')
  }

  /** Ends the session of a writer, whose upload of a whole segment may still arrive, and continues at `pc`. */
  #endSession({ late }, own, pc) {
    const { replaces } = own
    own.replaces = undefined
    own.pc = pc
    if (replaces?.pc !== 'put') return
    late.push({ key: replaces.key, object: replaces.object })
  }

  /** The next step of a writer that stores a whole segment while it stores parts of the next one. */
  #replaceParts({ generation, replaces: { pc, key, object } }, fork, state) {
    const end = object.first + object.records.length
    if (pc === 'put')
      return this.#put(fork, state, key, object, (isNew, next, own) => {
        if (isNew) own.replaces.pc = 'fences'
        else {
          own.replaces = undefined
          this.#endSession(next, own, 'list')
        }
      })
    if (pc === 'fences')
      return fork('lists fences after a segment', (next, own) => {
        if (fencesIn(next.store, generation).length > 0) this.#endSession(next, own, 'list')
        else own.replaces.pc = 'remove'
      })
    const parts = partsIn(state.store, generation, end)
    for (const part of parts) fork(`DELETE ${part}`, (next) => delete next.store[part])
    if (parts.length > 0) return
    fork('has replaced all parts', (_, own) => {
      own.whole = end
      own.replaces = this.#broken === BROKEN_WHOLE ? { pc: 'put', key, object } : undefined
    })
  }

  #archiver(actor, fork, state) {
    const { pc, generation, role } = actor
    const source = role === 'archiver' ? state.actors[actor.of] : actor
    if (pc === 'list' || pc === 'list2')
      return this.#list(actor, fork, 'fences', (own) => {
        const { seen } = own
        own.seen = undefined
        if (this.#limits.gates) Object.assign(own, { gate: undefined, mayStore: true, afterGate: 0 })
        if (newestIn(seen) > generation) {
          own.pc = 'fenced'
          return
        }
        own.next = contentOf(seen, generation).length
        const wholes = Object.entries(seen).filter(([key]) => key.startsWith(`l${generation}/`))
        own.whole = Math.max(own.whole, ...wholes.map(([, { first, records }]) => first + records.length))
      })
    if (pc === 'fences' || pc === 'fences after a segment')
      return fork('lists fences', (next, own) => {
        const fences = fencesIn(next.store, generation)
        const atNext = this.#broken === 'a fence is looked for only at the next seq'
        const isFenced = atNext ? fences.some(([key]) => key === `t${generation}/${own.next}`) : fences.length > 0
        if (isFenced) {
          this.#endSession(next, own, pc === 'fences' ? 'fenced' : 'list')
          return
        }
        if (pc !== 'fences') own.next = Math.max(own.next, own.whole)
        this.#acknowledge(next, own)
        own.pc = 'remove'
      })
    if (pc === 'remove') {
      const parts = partsIn(state.store, generation, actor.whole)
      if (parts.length === 0)
        return fork('has removed all parts', (_, own) => {
          own.pc = 'ready'
        })
      for (const key of parts) fork(`DELETE ${key}`, (next) => delete next.store[key])
      return
    }
    if (this.#limits.gates && !actor.mayStore && actor.next < source.log.length)
      return this.#passGate(actor, fork, state)
    const { next: begun, whole, replaces } = actor
    const { sealed, log } = source
    if (replaces === undefined && whole < sealed && role === 'writer' && begun >= sealed)
      return fork('begins to store a whole segment', (_, own) => {
        const object = { first: whole, records: log.slice(whole, sealed) }
        const key = `l${generation}/${whole}`
        own.replaces = { pc: this.#broken === BROKEN_WHOLE ? 'remove' : 'put', key, object }
      })
    // The rest of a sealed segment may be too long for a part.
    if (replaces === undefined && whole < sealed) {
      const records = log.slice(whole, sealed)
      this.#put(fork, state, `l${generation}/${whole}`, { first: whole, records }, (isNew, _, own) => {
        if (isNew) own.whole = whole + records.length
        own.pc = isNew ? 'fences after a segment' : 'list'
      })
      if (role !== 'writer' || begun <= whole) return
    }
    const first = begun
    const records = log.slice(first, first < sealed ? sealed : log.length)
    if (records.length === 0) return
    this.#put(fork, state, `t${generation}/${first}`, { first, records }, (isNew, next, own) => {
      if (this.#limits.gates) own.mayStore = false
      if (!isNew) return this.#endSession(next, own, 'list')
      own.pc = 'ready'
      if (gatesIn(next.store, generation).some(({ owner }) => owner !== own.id)) own.afterGate++
      own.next = first + records.length
      this.#acknowledge(next, own)
    })
  }

  /** A writer passes the next gate by creating it, unless another copy has closed it. */
  #passGate({ id, generation, gate }, fork, state) {
    const pass = (next, own, number, isClosed) => {
      if (isClosed && this.#broken !== STARVING) this.#endSession(next, own, 'fenced')
      else Object.assign(own, { gate: number, mayStore: gate !== undefined })
    }
    if (gate === undefined)
      return fork('lists gates', (next, own) => {
        const gates = gatesIn(next.store, generation)
        const { number, owner } = gates.at(-1) ?? { number: 0, owner: id }
        pass(next, own, number, owner !== id)
      })
    const key = `g${generation}/${gate + 1}`
    this.#put(fork, state, key, { owner: id }, (_, next, own) =>
      pass(next, own, gate + 1, next.store[key].owner !== id),
    )
  }

  #acknowledge(state, { role, log, next, id, fence }) {
    if (role === 'archiver') return
    for (let seq = 0; seq < next; seq++) {
      // A writer acknowledges the records that it has appended.
      if (!log[seq]?.startsWith(`${id}.`)) continue
      const other = state.acknowledged[seq] ?? null
      if (other !== null && other !== log[seq])
        state.doubled = `${other} and ${log[seq]} were both acknowledged as record ${seq}`
      while (state.acknowledged.length <= seq) state.acknowledged.push(null)
      state.acknowledged[seq] = log[seq]
      if (fence !== undefined) this.#apply(state, fence.key, fence.object)
    }
  }

  #standby(actor, fork, state) {
    const { pc, id } = actor
    if (pc === 'list' || pc === 'list2')
      return this.#list(actor, fork, 'claim', (own) => {
        const { seen } = own
        own.seen = own.helps = undefined
        const parent = newestIn(seen)
        const content = contentOf(seen, parent)
        const owner = seen[`h${parent}`]?.owner
        const isBegun = Object.keys(seen).some((key) => /^[lt]/.test(key) && key.startsWith(`${key[0]}${parent}/`))
        const differs = own.log.some((text, seq) => content[seq] !== text)
        own.log = content
        own.parent = parent
        const isOther = !isBegun && owner !== undefined && owner !== id
        if (differs || (isOther && !this.#limits.force)) own.pc = 'fenced'
        else if (content.length === 0) own.pc = 'list'
        else if (owner === id && !isBegun) this.#becomeWriter(own, parent)
      })
    const end = actor.log.length
    const generation = actor.parent + 1
    const key = `t${actor.parent}/${end}`
    if (pc === 'claim') {
      const object = { owner: id, generation }
      if (this.#broken === 'no claim' || this.#broken === 'claim after the first append')
        return fork('pretends a claim', (_, own) => {
          own.pc = 'check-list'
          if (this.#broken !== 'no claim') own.fence = { key, object }
        })
      return this.#put(fork, state, key, object, (isNew, next, own) => {
        const { owner } = next.store[key]
        if (isNew || owner === id) own.pc = 'check-list'
        else if (owner === undefined) own.pc = this.#afterRefusal
        else if (!this.#limits.force) own.pc = 'fenced'
        // The other standby may have died before it added the history.
        else Object.assign(own, { pc: this.#broken === BROKEN_FORCE ? 'add' : 'check-list', helps: owner })
      })
    }
    if (pc === 'gates')
      return fork('lists gates', (next, own) => {
        const gates = gatesIn(next.store, own.parent)
        own.closes = (gates.at(-1)?.number ?? 0) + 1
        own.pc = gates.some(({ owner }) => owner === id) ? 'list' : 'close'
      })
    if (pc === 'close') {
      const gate = `g${actor.parent}/${actor.closes}`
      return this.#put(fork, state, gate, { owner: id }, (_, { store }, own) => {
        if (store[gate].owner === id) own.pc = 'list'
        else own.closes++
      })
    }
    if (pc === 'check-list' || pc === 'check-list2')
      return this.#list(actor, fork, 'add', (own) => {
        const { seen } = own
        own.seen = undefined
        if (contentOf(seen, own.parent).length > end) own.pc = this.#afterRefusal
      })
    const owner = actor.helps ?? id
    this.#put(fork, state, `h${generation}`, { from: end, parent: actor.parent, owner }, (isNew, _, own) => {
      own.helps = undefined
      if (isNew && owner === id) this.#becomeWriter(own, generation)
      else own.pc = 'list'
    })
  }

  /** The next step of a standby whose claim was slower than an upload. */
  get #afterRefusal() {
    return this.#limits.gates ? 'gates' : 'list'
  }

  #becomeWriter(own, generation) {
    this.takeovers++
    const { log } = own
    Object.assign(own, {
      role: 'writer',
      generation,
      sealed: log.length,
      whole: log.length,
      rotations: 0,
      made: 0,
      pc: 'list',
      next: 0,
      closes: undefined,
    })
  }
}

function stepsOf(steps) {
  const list = []
  for (let at = steps; at !== undefined; at = at.before) list.unshift(at.text)
  return list
}

/** Limits with gates, and with so many records that a writer meets one that is closed. */
export const GATES = { gates: true, records: [5, 1], rotations: 0, faults: 0 }

/** Limits with a standby that may die after its claim, and another one that completes the claim. */
export const DEAD = { standbys: 2, records: [2, 0], rotations: 1, faults: 0, force: true, isListed: true }

const USUAL = {
  standbys: 1,
  archivers: 0,
  records: [2, 1],
  rotations: 1,
  faults: 1,
  gates: false,
  force: false,
  isListed: false,
}
/** Limits that have too many states to explore all of them. With `force`, standbys take over as `standBy` does. */
const WIDE = { standbys: 2, archivers: 1, records: [3, 2], faults: 4, gates: true, force: true }
const LONGEST_PATH = 300
const PATHS = 10_000

/** Explores all states within `limits`. */
export function explore(limits, broken) {
  const explorer = new Explorer({ ...USUAL, ...limits }, broken)
  const failure = explorer.run()
  return { failure, states: explorer.states, takeovers: explorer.takeovers }
}

/** Explores `paths` random paths within `limits`. */
function explorePaths(paths, limits, broken) {
  const explorer = new Explorer({ ...USUAL, ...limits }, broken)
  const failure = explorer.walk(paths, randomFrom(1))
  return { failure, states: explorer.states, takeovers: explorer.takeovers }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const show = (name, { failure, states, takeovers }, isWanted) => {
    console.log(`${name}: ${states} states, ${takeovers} takeovers, ${failure ?? 'no promise is broken'}`)
    if ((failure === undefined) === isWanted) process.exitCode = 1
  }
  const plans =
    process.argv[2] === undefined
      ? [
          {},
          { faults: 2 },
          { archivers: 1, faults: 0 },
          { archivers: 1, records: [1, 1] },
          { standbys: 2, records: [1, 1], rotations: 0 },
          GATES,
        ]
      : [JSON.parse(process.argv[2])]
  for (const plan of plans) {
    const begun = Date.now()
    show(JSON.stringify(plan), explore(plan), false)
    console.log(`${Date.now() - begun} ms`)
  }
  for (const broken of BROKEN) show(broken, explore({ faults: 2 }, broken), true)
  show(BROKEN_WHOLE, explore({}, BROKEN_WHOLE), true)
  show(BROKEN_FORCE, explore(DEAD, BROKEN_FORCE), true)
  show(STARVING, explore(GATES, STARVING), true)
  show(`${PATHS} paths of ${JSON.stringify(WIDE)}`, explorePaths(PATHS, WIDE), false)
  for (const broken of BROKEN) show(`paths, ${broken}`, explorePaths(PATHS, WIDE, broken), true)
}
