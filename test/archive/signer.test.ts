import { AwsV4Signer } from 'aws4fetch'
import { expect, test } from 'vitest'
import { resolveBucket } from '../../src/archive/bucket-options.js'
import { Signer } from '../../src/archive/signer.js'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const ODD = 'a b/+/é~!*()\'";:@&=,?#%2F%/日本'

const requests = {
  'an upload under a condition, with metadata': {
    method: 'PUT',
    key: 'logs/tail/000000000000',
    headers: { 'if-none-match': '*', 'x-amz-meta-durlog-version': '1', 'x-amz-meta-durlog-z': ' two  spaces ' },
    sha256: 'a'.repeat(64),
  },
  'a part of an object with an odd name': { method: 'GET', key: ODD, headers: { range: 'bytes=0-9' } },
  'a list with odd parameters': {
    method: 'GET',
    key: '',
    query: { 'list-type': '2', prefix: ODD, 'start-after': ODD, 'continuation-token': 'a+/=', delimiter: '/' },
  },
}

const places = {
  'a path of an endpoint': { bucket: 's3://bucket/p', endpoint: 'http://127.0.0.1:9000/a(b)', credentials: KEYS },
  AWS: { bucket: 's3://bucket/p', region: 'eu-north-1', credentials: { ...KEYS, sessionToken: 'token/+=' } },
}

const cases = Object.entries(requests).flatMap(([what, request]) =>
  Object.entries(places).map(([where, place]) => ({ what, where, request, place })),
)

test.each(cases)('the signature of $what in $where is that of another implementation', async ({ request, place }) => {
  const signer = new Signer(resolveBucket(place))
  for (let repeated = 0; repeated < 2; repeated++) {
    const { url, headers } = await signer.sign(request, new AbortController().signal)
    const { Authorization: authorization, 'x-amz-date': datetime, 'X-Amz-Security-Token': _, Host, ...given } = headers
    expect(Host).toBe(new URL(url).host)
    const { region = 'us-east-1', credentials } = place as { region?: string; credentials: typeof KEYS }
    const other = new AwsV4Signer({
      method: request.method,
      url,
      headers: given,
      service: 's3',
      region,
      datetime,
      ...credentials,
    } as never)
    expect(authorization).toBe((await other.sign()).headers.get('authorization'))
    expect(given['x-amz-content-sha256']).toBe((request as { sha256?: string }).sha256 ?? SHA256)
    expect(decodeURIComponent(new URL(url).pathname).endsWith(request.key)).toBe(true)
    const query = 'query' in request ? Object.entries(request.query) : []
    expect([...new URL(url).searchParams].sort()).toEqual(query.sort())
  }
})
