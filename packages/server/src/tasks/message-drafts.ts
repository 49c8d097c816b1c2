import type { DraftRecord, Ids, JsonObject } from '@millrace/core';
import type { Content } from '../contract/content.ts';
import { UpdateWriter } from '../updates/update-writer.ts';
import { openingUpdates } from './opening-updates.ts';
import { takeContent } from './take-content.ts';

export interface MessageDrafts {
  /** It is to be finished later. */
  readonly isOpen?: boolean | undefined;
  /** What the item says of itself: the id and the time that it is shown under, for instance. */
  readonly metadata?: JsonObject | undefined;
}

/** A message that belongs to no turn: what somebody said, or wrote from elsewhere. */
export function messageDrafts(
  content: Content,
  ids: Pick<Ids, 'item' | 'part' | 'toolCall'>,
  { isOpen = false, metadata }: MessageDrafts = {},
): readonly DraftRecord[] {
  const writer = new UpdateWriter({ turn: 0, attempt: 0, ids });
  const updates = isOpen ? openingUpdates(content) : [{ type: 'full', content } as const];
  const drafts = takeContent(() =>
    updates.flatMap((update) => writer.write({ ...update, index: 0 })),
  );
  return metadata === undefined ? drafts : drafts.map((draft) => withMetadata(draft, metadata));
}

/** What the item says of itself besides. */
export function withMetadata(draft: DraftRecord, metadata: JsonObject): DraftRecord {
  const { fact, turn, attempt } = draft;
  if (fact?.type !== 'item_started') return draft;
  return { turn, attempt, fact: { ...fact, metadata: { ...fact.metadata, ...metadata } } };
}
