/**
 * Judges a trial of takeovers. The values of a stream are unique, and the streams that are restored at the end show
 * their order. So the register `nextSeq` of a stream is linearizable if and only if no append that had ended before
 * another one began has the higher seq: no search over orders is needed.
 */

/**
 * `acknowledged`: `{ stream, seq, value, begun, ended, by }`; `final`: the values of each stream; `log`: the main log,
 * by seq; `replicas`: the main logs of machines that have not written since they began to follow. Throws an Error.
 */
export function judge({ acknowledged, final, log, replicas }) {
  for (const [stream, values] of final) {
    const own = acknowledged.filter((one) => one.stream === stream)
    judgeStream(stream, values, own)
  }
  for (const replica of replicas) {
    for (const [seq, data] of replica)
      if (log.has(seq) && log.get(seq) !== data)
        throw new Error(`record ${seq} of a replica differs from the restored one`)
  }
}

function judgeStream(stream, values, acknowledged) {
  const bySeq = new Map()
  for (const { seq, value, by } of acknowledged) {
    const other = bySeq.get(seq)
    if (other !== undefined && other !== value)
      throw new Error(`${stream}: ${value} (by ${by}) and ${other} were both acknowledged at seq ${seq}`)
    bySeq.set(seq, value)
    if (values[seq] !== value)
      throw new Error(
        `${stream}: ${value} was acknowledged at seq ${seq} by ${by}, but the restored value is ${values[seq]}`,
      )
  }
  // Each client appends one value after the other, so each is stored once and in this order.
  values.forEach((value, seq) => {
    if (value !== `${stream}${seq}`) throw new Error(`${stream}: seq ${seq} holds ${value}`)
  })
  let latest = Number.NEGATIVE_INFINITY
  for (const { value, begun, ended } of acknowledged.toSorted((a, b) => a.seq - b.seq)) {
    if (ended < latest) throw new Error(`${stream}: ${value} has a higher seq than an append that began after its end`)
    latest = Math.max(latest, begun)
  }
}
