import type { StoredMsg } from '@nats-io/jetstream'
import type { LiveLink } from './nats-link.js'
import { askUntilAnswered } from './race.js'
import { fromClientError } from './refusals.js'

/** Reads the subject's last message from the stream's leader, because another replica may not have it yet. */
export async function lastMessage(live: LiveLink, stream: string, subject: string): Promise<StoredMsg | null> {
  try {
    return await askUntilAnswered(() => live.manager.streams.getMessage(stream, { last_by_subj: subject }))
  } catch (error) {
    throw fromClientError(error, `reading the last message of ${subject}`)
  }
}
