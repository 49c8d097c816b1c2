import { sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';

const session = sessionId('s');

/** A session whose driver died in the middle of an answer. */
async function cutSession() {
  const log = memoryLog();
  const first = createAgent({ provider: scriptedProvider(['It rains.']), log });
  await first.run('The weather?', { session: sessionId('whole') }).result;
  const { records } = await log.read(sessionId('whole'));
  const through = records.find(({ delta }) => delta?.type === 'append_text')?.offset ?? 0;
  await log.fork(sessionId('whole'), { into: session, through });
  return log;
}

test('a run that is aborted while the previous run ends keeps its input, and requests nothing', async () => {
  const log = await cutSession();
  const provider = scriptedProvider(['Again.', 'Never.'], { pieces: 'token' });
  let stop = () => {};
  const agent = createAgent({
    ...{ provider, log, onInterrupted: 'retry' },
    observers: [({ delta }) => delta?.type === 'append_text' && stop()],
  });
  const run = agent.run('And the stones?', { session });
  stop = () => void run.abort('enough');
  expect((await run.result).stop.reason).toBe('aborted');
  expect(provider.requests).toHaveLength(1);
  const said = transcript(await snapshot(log, session)).map(({ kind }) => kind);
  expect(said).toEqual(['user', 'assistant', 'user']);
  expect((await log.info(session))?.hasWork).toBe(false);
});
