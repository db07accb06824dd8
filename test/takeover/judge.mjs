/**
 * Judges a trial of takeovers. The values of a stream are unique, and the streams that are restored at the end show
 * their order. So the register `nextSeq` of a stream is linearizable if and only if no append that had ended before
 * another one began has the higher seq: no search over orders is needed.
 */

/**
 * `acknowledged`: `{ stream, seq, value, duplicate, begun, ended, by }`. A value is `<stream><seq>#<attempt>`, and of a
 * duplicate another attempt may be stored. `final`: the values of each stream. `log`: the main log, by seq. `replicas`:
 * the main logs of machines that have not written since they began to follow. Throws an Error. Returns the number of
 * replicas' records that were compared.
 */
export function judge({ acknowledged, final, log, replicas }) {
  for (const [stream, values] of final) {
    const own = acknowledged.filter((one) => one.stream === stream)
    judgeStream(stream, values, own)
  }
  let compared = 0
  const last = Math.max(...log.keys())
  for (const replica of replicas) {
    for (const [seq, data] of replica) {
      // The restored log may have fewer records at its beginning.
      if (seq > last) throw new Error(`a replica has record ${seq}, but the restored log ends with ${last}`)
      if (!log.has(seq)) continue
      if (log.get(seq) !== data) throw new Error(`record ${seq} of a replica differs from the restored one`)
      compared++
    }
  }
  if (compared === 0) throw new Error('no record of a replica was compared')
  return compared
}

function judgeStream(stream, values, acknowledged) {
  // Each client appends one value after the other, so each is stored once and in this order.
  values.forEach((value, seq) => {
    if (!value.startsWith(`${stream}${seq}#`)) throw new Error(`${stream}: seq ${seq} holds ${value}`)
  })
  // The seq of an old duplicate is not known.
  const known = acknowledged.filter(({ seq }) => seq !== -1)
  for (const { seq, value, duplicate, by } of known) {
    const stored = values[seq]
    const isStored = duplicate ? stored?.split('#')[0] === value.split('#')[0] : stored === value
    if (!isStored)
      throw new Error(
        `${stream}: ${value} was acknowledged at seq ${seq} by ${by}, but the restored value is ${stored}`,
      )
  }
  let latest = Number.NEGATIVE_INFINITY
  for (const { value, begun, ended } of known.toSorted((a, b) => a.seq - b.seq)) {
    if (ended < latest) throw new Error(`${stream}: ${value} has a higher seq than an append that began after its end`)
    latest = Math.max(latest, begun)
  }
}
