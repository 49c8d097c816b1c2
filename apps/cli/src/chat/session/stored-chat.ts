import type { SessionId } from '@millrace/core';
import { type Log, storedValue, storeValue } from '@millrace/log';
import type { ChatState } from '../contract/chat-state.ts';
import { emptyChat } from '../state/fold-chat.ts';
import { shortenChildren } from '../state/usage-stats.ts';
import type { EventBatch, QuietPlace } from './follow-session.ts';

// The chat stores its state in the snapshot of the session, so that the next chat reads only the records after
// it. The state is stored only at a place at which no content is open, so it has no Markdown streams.

/** The state of the chat at a place at which no content is open. */
export interface ChatAt {
  /** The offset of the last record that the state includes. */
  readonly through: number;
  readonly state: ChatState;
  /** The number of blocks that were printed up to this place. */
  readonly count: number;
}

type StoredChat = Omit<ChatState, 'session'> & Pick<ChatAt, 'count'>;

/** Increase the version when `foldChat` changes. States of other versions are not used. */
export const storedChat = { name: 'chat', version: 2 } as const;

/** Returns true if no content is open after a batch, so that the state can be stored. */
export function isQuiet(
  { isQuiet: isFolded }: Pick<EventBatch, 'isQuiet'>,
  state: ChatState,
): boolean {
  const { entries, approvals, items, printed, printedCalls, retry } = state;
  const isNothingOpen = entries.length + approvals.length + items.size === 0;
  return isFolded && isNothingOpen && printed.size + printedCalls.size === 0 && retry === undefined;
}

/** Returns the place of a state, at which a fold can start. */
export function placeOf({ through, state }: Pick<ChatAt, 'through' | 'state'>): QuietPlace {
  return { through, run: state.run?.id };
}

/** Returns the state that an earlier chat stored. Returns undefined if there is none. */
export async function readStoredChat(log: Log, session: SessionId): Promise<ChatAt | undefined> {
  const found = await storedValue<StoredChat>(log, session, storedChat);
  if (found === undefined) return undefined;
  const { count, ...state } = found.value;
  // Fields without a value are not stored.
  return { through: found.through, count, state: { ...emptyChat(session), ...state } };
}

/** Stores a state for the next chat. Returns false if the log has no place for it. */
export function storeChat(
  log: Log,
  { through, state: { session, ...state }, count }: ChatAt,
  incarnation: string,
): Promise<boolean> {
  const value = { ...state, stats: shortenChildren(state.stats), count };
  return storeValue<StoredChat>(log, session, storedChat, {
    ...{ through, incarnation, value },
  });
}
