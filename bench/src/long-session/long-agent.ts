import { type Agent, createAgent } from '@millrace/agent';
import { DeltaWriter, noUsage } from '@millrace/core';
import type { Log } from '@millrace/log';
import { createProvider } from '@millrace/providers';

/**
 * The number of words in an answer. Each word is a delta. Together with the facts, a message
 * becomes about 100 records.
 */
const wordsPerAnswer = 88;

/**
 * A model that answers at once. It reports tokens, so that the session is compacted as in real use.
 */
const provider = createProvider('words', 'words', async function* ({ items }, { item, ids }) {
  const writer = new DeltaWriter({ itemId: item.id, ...item, ids });
  const text = writer.text();
  for (let word = 0; word < wordsPerAnswer; word++) text.append('word ');
  text.commit();
  const output = wordsPerAnswer;
  const usage = { ...noUsage, input: items.length * output, output };
  yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage } };
});

/** An agent whose requests do not grow with the session. */
export function longAgent(log: Log): Agent {
  return createAgent({ log, provider, compaction: { whenTokens: 2500, keepSteps: 6 } });
}

/** Sends messages until the session has this many records. */
export async function fillSession(log: Log, session: string, records: number): Promise<void> {
  const agent = longAgent(log);
  while (((await log.info(session))?.through ?? 0) < records)
    for (let run = 0; run < 10; run++) await agent.run('And then?', { session }).result;
}
