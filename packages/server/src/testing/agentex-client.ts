import { emptyState, Folder, type LogRecord, type SessionId } from '@millrace/core';
import { aggregateMessageEvents } from 'agentex/lib';
import type { TaskMessage, Update } from '../contract/message.ts';
import { updatesOf } from '../updates/updates-view.ts';

type Events = Parameters<typeof aggregateMessageEvents>[2];

/**
 * Returns the messages that Agentex's own client shows after these updates, and the ids that it would fetch
 * again.
 */
export function shownByAgentex(updates: readonly Update[], listed: readonly TaskMessage[] = []) {
  const gone = new Set<string | null>();
  for (const update of updates) {
    const id = update.parent_task_message?.id ?? null;
    if (update.type === 'full' && update.retracted) gone.add(id);
    else gone.delete(id);
  }
  const events = updates as unknown as Events;
  const initial = listed as unknown as Parameters<typeof aggregateMessageEvents>[0];
  const { messages, refetchMessageIDs } = aggregateMessageEvents(initial, null, events);
  const shown = (messages as unknown as readonly TaskMessage[]).filter(({ id }) => !gone.has(id));
  return { messages: shown, refetched: [...refetchMessageIDs] };
}

/**
 * Returns the messages by id, in a form that can be compared. It omits the time of the last change, and an
 * empty list becomes null.
 */
export function byId(messages: readonly TaskMessage[]): ReadonlyMap<string | null, unknown> {
  return new Map(
    messages.map(({ id, content, streaming_status, created_at }) => {
      const bare =
        content.type === 'reasoning' && content.content?.length === 0
          ? { ...content, content: null }
          : content;
      return [id, { content: bare, streaming_status, created_at }];
    }),
  );
}

/** Returns the updates of each record of a log, and the final state. */
export function updatesOfLog(session: SessionId, records: readonly LogRecord[], through?: number) {
  const folder = new Folder(emptyState(session));
  const steps: { readonly offset: number; readonly updates: readonly Update[] }[] = [];
  const last = through ?? records.at(-1)?.offset ?? 0;
  const folded = folder.addBatch({ after: 0, through: last, records }, (before, record, after) => {
    const updates = updatesOf(before, record, after).map(({ update }) => update);
    steps.push({ offset: record.offset, updates });
  });
  if (folded.outcome === 'gap') throw new Error(`Record ${folded.gap.offset} does not fold`);
  return { steps, updates: steps.flatMap(({ updates }) => updates), state: folder.state };
}
