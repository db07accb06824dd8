/** The description of the HTTP interface in OpenAPI 3.1. */

const text = { schema: { type: 'string' } }
const header = (name: string, description: string): object => ({ name, in: 'header', description, ...text })
const query = (name: string, description: string): object => ({ name, in: 'query', description, ...text })
const answers = (...statuses: [status: string, description: string][]): object =>
  Object.fromEntries(statuses.map(([status, description]) => [status, { description }]))

const refusals: [string, string][] = [
  ['400', 'a malformed request'],
  ['401', 'no valid credentials'],
  [
    '403',
    'the credentials do not allow this request; or another site sent it; or its Host is not allowed; or a stale epoch',
  ],
  ['404', 'the stream does not exist'],
  ['410', 'the stream was deleted and is kept for its forks; or the data of the offset was removed or replaced'],
  ['503', 'the server is busy or shutting down: repeat after Retry-After'],
]
const bodyRefusals: [string, string][] = [
  ['413', 'the body is too large'],
  ['415', 'the body is compressed'],
]
const body = (description: string): object => ({ description, content: { '*/*': {} } })
const producer = [
  header('Producer-Id', 'with Producer-Epoch and Producer-Seq: a repeated append is stored once'),
  header('Producer-Epoch', 'a new instance of the producer uses a higher one'),
  header('Producer-Seq', 'counts the requests of the producer from 0 in each epoch'),
]

const document = {
  openapi: '3.1.0',
  info: { title: 'Durable Streams', version: '1.0', description: 'https://github.com/durable-streams/durable-streams' },
  paths: {
    '/{stream}': {
      parameters: [{ name: 'stream', in: 'path', required: true, ...text }],
      put: {
        summary: 'create a stream',
        requestBody: body('the first records; Content-Type is that of the stream'),
        parameters: [
          header('Stream-TTL', 'the stream is deleted after this many seconds without a read or an append'),
          header('Stream-Expires-At', 'the stream is deleted at this time, in the format of RFC 3339'),
          header('Stream-Closed', 'true: close the stream after the body'),
          header('Stream-Forked-From', 'the path of the source, with whose data the stream begins'),
          header('Stream-Fork-Offset', 'the offset in the source at which the stream begins'),
          header('Stream-Fork-Sub-Offset', 'a number of JSON messages, or of bytes, to add to that offset'),
        ],
        responses: answers(
          ['201', 'created'],
          ['200', 'the stream exists with these options'],
          ['409', 'the stream exists with other options'],
          ['429', 'there are as many streams as allowed'],
          ...bodyRefusals,
          ...refusals,
        ),
      },
      post: {
        summary: 'append to a stream, close it, or both',
        requestBody: body('a record, or a JSON array of records; Content-Type must be that of the stream'),
        parameters: [
          header('Stream-Seq', 'must be greater than in every earlier append'),
          header('Stream-Closed', 'true: close it'),
          ...producer,
        ],
        responses: answers(
          ['204', 'stored; with a producer: already stored'],
          ['200', 'stored, with a producer'],
          ['409', 'closed, another content type, a smaller Stream-Seq, or a gap of the producer'],
          ...bodyRefusals,
          ...refusals,
        ),
      },
      get: {
        summary: 'read a stream from an offset',
        parameters: [
          query('offset', '-1: from the beginning; now: from the end; or an earlier Stream-Next-Offset'),
          query('live', 'long-poll or sse'),
          query('cursor', 'the Stream-Cursor of the last answer'),
          header('If-None-Match', 'the ETag of an earlier answer'),
        ],
        responses: answers(
          ['200', 'data'],
          ['204', 'no new data before the timeout'],
          ['304', 'not modified'],
          ...refusals,
        ),
      },
      head: { summary: 'the options and the end of a stream', responses: answers(['200', 'it exists'], ...refusals) },
      delete: { summary: 'delete a stream', responses: answers(['204', 'deleted'], ...refusals) },
    },
    '/__ds/streams': {
      get: {
        summary: 'list streams by name',
        parameters: [
          query('prefix', 'the beginning of the names'),
          query('after', 'list only names after this one'),
          query('limit', '1 to 1000'),
        ],
        responses: answers(['200', 'streams'], ['401', 'no valid credentials'], ['403', 'no right to list']),
      },
    },
    '/healthz': {
      get: {
        summary: 'whether appends and checkpoints succeed; the body has the reason',
        responses: answers(['200', 'yes'], ['403', 'the Host is not allowed'], ['503', 'no']),
      },
    },
    '/metrics': {
      get: { summary: 'metrics for Prometheus', responses: answers(['200', 'text'], ['403', 'no right']) },
    },
  },
}

export const OPENAPI: string = JSON.stringify(document)
