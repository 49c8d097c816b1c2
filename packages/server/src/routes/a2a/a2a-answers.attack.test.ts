import { defineTool } from '@millrace/agent';
import { toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { a2aClient, dataPart, sent, transcriptOf } from '../../testing/a2a/a2a-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';

/** Serves an agent that asks for two calls, one after the other. `ran` has the calls that were executed. */
async function serveTwoQuestions() {
  const ran: string[] = [];
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes', input: z.object({ path: z.string() }) },
    execute: async ({ path }) => {
      ran.push(path);
      return 'Removed';
    },
  });
  const calls = [
    toolCall('remove', { path: 'first' }, 'c1'),
    toolCall('remove', { path: 'second' }, 'c2'),
  ];
  const { url } = await serveOpenAi([...calls, 'Done.'], {
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const client = await a2aClient(url);
  const { id: taskId, contextId } = transcriptOf(await client.sendMessage(sent('Clean up')));
  const send = async (content: Parameters<typeof sent>[0], messageId?: string) =>
    transcriptOf(await client.sendMessage(sent(content, { taskId, messageId })));
  const deny = (id: string) =>
    fetch(`${url}/tasks/${contextId}/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'deny', tool_call_id: id }),
    });
  const question = async () =>
    JSON.stringify((await client.getTask({ tenant: '', id: taskId })).status?.message?.parts);
  return { ran, send, deny, question };
}

test.each([
  ['a text', 'yes'],
  ['data', [dataPart({ approve: true })]],
  ['data with the id', [dataPart({ id: 'c1', approve: true })]],
])('18.371: attack: a repeated answer approves the next call (%s)', async (_, answer) => {
  const { ran, send } = await serveTwoQuestions();
  const first = await send(answer, 'answer-1');
  expect([ran, first.state]).toEqual([['first'], 'TASK_STATE_INPUT_REQUIRED']);
  const again = await send(answer, 'answer-1');
  expect([ran, again.state]).toEqual([['first'], 'TASK_STATE_INPUT_REQUIRED']);
  const last = await send('yes c2', 'answer-2');
  expect([ran, last.state]).toEqual([['first', 'second'], 'TASK_STATE_COMPLETED']);
  // The answer is still without effect after the end of the task.
  expect((await send(answer, 'answer-1')).state).toBe('TASK_STATE_COMPLETED');
  expect(ran).toEqual(['first', 'second']);
});

test.each([
  ['a text', 'yes'],
  ['data', [dataPart({ approve: true })]],
])(
  '18.372: attack: a late answer to an earlier question approves a call (%s)',
  async (_, answer) => {
    const { ran, send, deny, question } = await serveTwoQuestions();
    expect((await deny('c1')).ok).toBe(true);
    await expect.poll(question).toMatch(/second.*yes c2/);
    await expect(send(answer)).rejects.toThrow(/id.*c2/);
    await expect(send('yes c1')).rejects.toThrow(/no question has this id.*c2/);
    expect(ran).toEqual([]);
    expect((await send([dataPart({ id: 'c2', approve: true })])).state).toBe(
      'TASK_STATE_COMPLETED',
    );
    expect(ran).toEqual(['second']);
  },
);
