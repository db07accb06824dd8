/** The key-value buckets of durlog: streams that keep the last message of each subject. */
import type { StoredMsg } from '@nats-io/jetstream'
import { lastMessage } from './last-message.js'
import { isDeletionMarker } from './message.js'
import type { LiveLink } from './nats-link.js'
import { fromClientError, StreamMissing } from './refusals.js'

/** The subject of the key for a log. */
export function keySubject(bucket: string, { stream, subject }: { stream: string; subject: string }): string {
  return `$KV.${bucket}.${stream}.${subject}`
}

/** Reads the last message of a key; null if there is none, or no such bucket. */
export async function lastOfKey(live: LiveLink, bucket: string, key: string): Promise<StoredMsg | null> {
  return await lastMessage(live, `KV_${bucket}`, key).catch((error: unknown) => {
    if (error instanceof StreamMissing) return null
    throw error
  })
}

/** Whether a key was deleted: by a client (`nats kv del`, `nats kv purge`), or by the server. */
export function isDeleted({ header }: StoredMsg): boolean {
  return isDeletionMarker(header) || header.has('KV-Operation')
}

/** As the clients of NATS do: if another process has created the bucket, this changes nothing. */
export async function createBucket({ manager }: LiveLink, bucket: string, isReplicated: boolean): Promise<void> {
  try {
    await manager.streams.add({
      name: `KV_${bucket}`,
      subjects: [`$KV.${bucket}.>`],
      max_msgs_per_subject: 1,
      num_replicas: isReplicated ? 3 : 1,
      storage: 'file',
      discard: 'new',
      allow_direct: true,
      allow_rollup_hdrs: true,
      deny_delete: true,
    })
  } catch (error) {
    throw fromClientError(error, `creating the key-value bucket ${bucket}`)
  }
}
