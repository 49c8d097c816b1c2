import { countingIds, DeltaWriter, itemId, type SessionId } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';

const at = { turn: 1, attempt: 1 };

export interface Speaker {
  readonly driver: Driver;
  /** One more delta of the one text. */
  say(chunk: string): Promise<unknown>;
  /** The text is whole, and the session closed. */
  end(): Promise<unknown>;
}

/** Says one text in one turn, as slowly as a test likes. */
export async function speaker(log: Log, session: SessionId): Promise<Speaker> {
  const driver = await log.open(session);
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  const text = writer.text();
  const take = () => writer.take().map((delta) => ({ ...at, delta }));
  await driver.append([
    { ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } },
    ...take(),
  ]);
  return {
    driver,
    say: (chunk) => {
      text.append(chunk);
      return driver.append(take());
    },
    end: async () => {
      text.commit();
      await driver.append([...take(), { ...at, fact: { type: 'item_finished', itemId: item } }]);
      await driver.closeSession();
    },
  };
}
