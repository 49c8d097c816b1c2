import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { agUiClient, runAgUi, say, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';
import { CuttingProxy } from '../../testing/cutting-proxy.ts';
import { serveOpenAi as serve } from '../../testing/openai-client.ts';

const thought = { kind: 'reasoning', form: 'full', text: 'Let me think about it.' } as const;
const answer: readonly ScriptEntry[] = [
  [thought, 'I look at the clock now. ', toolCall('now')],
  'It is noon, and the sun is high.',
];
const shown = [
  'user: Time?',
  'reasoning: Let me think about it.',
  'assistant: I look at the clock now.  now{}',
  'tool: noon',
  'assistant: It is noon, and the sun is high.',
];

/** Serves an agent whose tool waits until the test continues. */
async function serveGated(runs: number) {
  let gate = Promise.withResolvers<void>();
  const now = defineTool({
    ...{ name: 'now', description: 'Returns the time', input: z.object({}) },
    execute: async () => {
      await gate.promise;
      return 'noon';
    },
  });
  const script = Array.from({ length: runs }, () => answer).flat();
  const served = await serve(script, { agent: { tools: [now] } });
  const proxy = await CuttingProxy.before(Number(new URL(served.url).port));
  onTestFinished(() => proxy.close());
  return {
    ...{ ...served, proxy, go: () => gate.resolve() },
    lock: () => {
      gate = Promise.withResolvers();
    },
  };
}

const cuts = Array.from({ length: 16 }, (_, index) => 40 + 190 * index);

test('24.2: a connection can be cut at any byte, and the same run id gives the same messages', async () => {
  const { url, proxy, go, lock } = await serveGated(cuts.length);
  let connections = 0;
  for (const cut of cuts) {
    lock();
    proxy.cutNext(cut);
    const threadId = `cut at ${cut}`;
    const agent = agUiClient(`http://127.0.0.1:${proxy.port}`, { threadId });
    agent.subscribe({ onToolCallEndEvent: go });
    say(agent, 'Time?');
    for (let isOver = false; !isOver; connections++) {
      const { events, error } = await runAgUi(agent, { runId: 'r1' });
      isOver = error === undefined && events.at(-1)?.type === 'RUN_FINISHED';
      go();
    }
    expect(shownOf(agent.messages), threadId).toEqual(shown);
    const reader = agUiClient(url, { threadId });
    await runAgUi(reader);
    expect(reader.messages, threadId).toEqual(agent.messages);
  }
  expect(connections).toBeGreaterThan(cuts.length);
});

test('24.2: a client that left sees the rest of the run as it is streamed', async () => {
  const { url, go } = await serveGated(1);
  const agent = agUiClient(url);
  say(agent, 'Time?');
  const called = Promise.withResolvers<void>();
  const left = agent.runAgent({ runId: 'r1' }, { onToolCallEndEvent: () => called.resolve() });
  await called.promise;
  agent.abortRun();
  await left;
  const listed = Promise.withResolvers<void>();
  agent.subscribe({ onMessagesSnapshotEvent: () => listed.resolve() });
  const again = runAgUi(agent, { runId: 'r1' });
  await listed.promise;
  go();
  expect((await again).types).toEqual([
    ...['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'TOOL_CALL_RESULT', 'TEXT_MESSAGE_START'],
    ...['TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
  ]);
  expect(shownOf(agent.messages)).toEqual(shown);
});

test('24.2: a message that waits for another run stays in the list of its client', async () => {
  const { url, go, log } = await serveGated(2);
  const first = agUiClient(url);
  say(first, 'Time?');
  const called = Promise.withResolvers<void>();
  first.subscribe({ onToolCallEndEvent: () => called.resolve() });
  const running = runAgUi(first);
  await called.promise;
  const second = agUiClient(url, { initialMessages: first.messages.slice(0, 1) });
  say(second, 'Time?');
  const waits = [runAgUi(second, { runId: 'w' })];
  const repeat = agUiClient(url, { initialMessages: second.messages });
  const [{ session } = expect.fail()] = await log.list();
  await expect.poll(() => log.findCommand(session, 'command:agui:w')).toBeDefined();
  waits.push(runAgUi(repeat, { runId: 'w' }));
  go();
  await running;
  await Promise.all(waits);
  for (const { messages } of [second, repeat])
    expect(shownOf(messages).toSorted()).toEqual([...shown, ...shown].toSorted());
});
