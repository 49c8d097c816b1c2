import { DeltaWriter, noUsage } from '@millrace/core';
import { type Log, sessionStates } from '@millrace/log';
import { createProvider, type Provider } from '@millrace/providers';
import { expect } from 'vitest';
import { countingLog, type LogWork } from '../../../log/src/testing/counting-log.ts';
import { createAgent } from '../create-agent.ts';

/**
 * A model that answers with a few words. The tokens that it reports grow with the request, so that the
 * session is compacted.
 */
export const wordModel: Provider = createProvider(
  'words',
  'words',
  async function* ({ items }, { item, ids }) {
    const writer = new DeltaWriter({ itemId: item.id, ...item, ids });
    const text = writer.text();
    for (const word of ['Sunny ', 'and ', 'warm ', 'today.']) text.append(word);
    text.commit();
    const usage = { ...noUsage, input: 100 * items.length, output: 10 };
    yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage } };
  },
);

/**
 * The compaction settings of the test. They are low, so that a short test has many compactions. Snapshots
 * are frequent for the same reason.
 */
export const compaction = { whenTokens: 1200, keepSteps: 4 };
const recordsPerSnapshot = 100;

/** The costs of messages in one session. */
interface MessageCosts {
  /** The highest cost of a message that is not the first one in its process. */
  readonly later: LogWork;
  /** The highest cost of the first message in a process. */
  readonly first: LogWork;
}

/**
 * Checks law 18: the cost of a message does not depend on the length of the session. It sends messages
 * until the session is about eight times as long. It then compares the costs, in calls of the log,
 * records and bytes. `open` opens the same log again, as another process would.
 */
export async function expectConstantCosts(open: () => Promise<Log>, messages = 12): Promise<void> {
  await costsOf(open, messages);
  const short = await costsOf(open, messages);
  for (let round = 0; round < 5; round++) await costsOf(open, messages);
  const long = await costsOf(open, messages);
  for (const when of ['later', 'first'] as const) {
    const [before, after] = [short[when], long[when]];
    const has = (name: keyof LogWork) => expect(after[name], `${when}: ${name}`);
    // Some messages store a snapshot, and others cause a compaction. Both happen at intervals, so the
    // maximum over many messages varies a little.
    has('calls').toBeLessThanOrEqual(before.calls + 4);
    has('records').toBeLessThanOrEqual(1.25 * before.records + 10);
    has('bytesRead').toBeLessThanOrEqual(1.25 * before.bytesRead + 2000);
    has('snapshotBytes').toBeLessThanOrEqual(1.25 * before.snapshotBytes + 2000);
  }
}

/** Sends messages in two processes, one after the other, and returns their costs. */
async function costsOf(open: () => Promise<Log>, messages: number): Promise<MessageCosts> {
  const first: LogWork[] = [];
  const later: LogWork[] = [];
  for (let process = 0; process < 2; process++) {
    const stored = await open();
    const { log, take } = countingLog(stored);
    const states = sessionStates(log, { recordsPerSnapshot });
    const agent = createAgent({ log, provider: wordModel, compaction });
    for (let message = 0; message < messages / 2; message++) {
      take();
      const { stop } = await agent.run('How is the weather?', { session: 'long' }).result;
      expect(stop.reason).toBe('stop');
      await states.saved();
      (message === 0 ? first : later).push(take());
    }
    await stored.close();
  }
  return { first: most(first), later: most(later) };
}

function most(all: readonly LogWork[]): LogWork {
  const highest = (name: keyof LogWork) => Math.max(...all.map((work) => work[name]));
  return {
    calls: highest('calls'),
    records: highest('records'),
    bytesRead: highest('bytesRead'),
    snapshotBytes: highest('snapshotBytes'),
  };
}
