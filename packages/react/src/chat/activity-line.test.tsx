import { createAgent } from '@millrace/agent';
import { type LogRecord, sessionId, type Usage } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { GrowingSource } from '../testing/growing-source.ts';

/** Runs an agent that answers with many words. Returns the records of the session. */
async function recordsOf(usage: Partial<Usage>): Promise<readonly LogRecord[]> {
  const log = memoryLog();
  const content = { parts: ['word '.repeat(200)] };
  const provider = scriptedProvider([{ content, usage }], { pieces: 'token' });
  await createAgent({ provider, log }).run('Hello', { session: 's' }).result;
  return (await log.read(sessionId('s'), {})).records;
}

test('22.8: a screen reader announces the start and the end of an answer, and none of its words', async () => {
  const page = await openDomPage('http://localhost/');
  const { Announcer } = await import('./activity-line.tsx');
  const source = new GrowingSource();
  await page.render(<Announcer source={source} />);
  const announced: string[] = [];
  for (const record of await recordsOf({ input: 10, output: 200 })) {
    await page.act(() => source.add([record]));
    const text = page.find('[role=status]').textContent;
    if (text !== (announced.at(-1) ?? '')) announced.push(text);
  }
  expect(source.itemIds).toHaveLength(2);
  expect(announced).toEqual(['The agent is working.', 'The agent is done.']);
});

test('the usage omits tokens that the model does not report', async () => {
  const page = await openDomPage('http://localhost/');
  const { UsageLine } = await import('./activity-line.tsx');
  const source = new GrowingSource();
  source.add(await recordsOf({ output: 200 }));
  await page.render(<UsageLine source={source} />);
  expect(page.text()).toBe('200 out');
});
