import {
  DeltaWriter,
  type DraftRecord,
  type Ids,
  itemId,
  randomIds,
  type SessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';

/** A session in which so many things were said, in turns of a person and an assistant. */
export async function fillSession(log: Log, session: SessionId, count: number): Promise<void> {
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  const driver = await log.open(session);
  const drafts = Array.from({ length: count }, (_, index) => itemDrafts(index, ids));
  await driver.append(drafts.flat());
  await driver.release();
}

function itemDrafts(index: number, ids: Ids): readonly DraftRecord[] {
  const at = { turn: 0, attempt: 0 };
  const id = itemId(`filled-${index}`);
  const writer = new DeltaWriter({ itemId: id, ...at, ids });
  writer.whole({ kind: 'text', text: `What was said as number ${index}.` });
  const kind = index % 2 === 0 ? 'user' : 'assistant';
  return [
    { ...at, fact: { type: 'item_started', itemId: id, kind } },
    ...writer.take().map((delta): DraftRecord => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId: id } },
  ];
}
