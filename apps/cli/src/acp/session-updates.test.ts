import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { createAgent, defineTool } from '@millrace/agent';
import { liveTranscript, sessionId } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { todoTool } from '@millrace/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOfSession, FoldedChat } from '../testing/folded-chat.ts';
import { toolCall } from '../testing/run-print.ts';
import { SessionUpdates } from './session-updates.ts';

const session = sessionId('s');
const tools = [
  defineTool({
    ...{ name: 'read', description: 'Reads', input: z.object({ path: z.string() }) },
    execute: async ({ path }) => `The text of ${path}`,
  }),
  todoTool(),
];

/** Runs a script, and returns its updates as an editor gets them live and when it loads the session. */
async function updatesOf(...script: readonly ScriptEntry[]) {
  const log = memoryLog();
  const provider = scriptedProvider(script, { pieces: 'token' });
  const agent = createAgent({ provider, log, tools, retry: { baseDelayMs: 0 } });
  await agent.run('Go', { session }).result;
  const view = () =>
    new SessionUpdates({ cwd: '/folder', hasTerminals: false, isOwn: () => false });
  const live = view();
  const chat = new FoldedChat(session);
  const sent: SessionUpdate[] = [];
  for (const event of await eventsOfSession(log, session)) {
    chat.add(event);
    sent.push(...live.of(event, chat.state));
  }
  const load = async () => {
    const loaded = view();
    const items = liveTranscript(await snapshot(log, session));
    return [...loaded.load(items, false), ...loaded.plan(chat.state)];
  };
  const before = await load();
  for (const turn of [1, 2, 3]) await log.settle(session, turn);
  return { sent, before, settled: await load() };
}

function textOf(updates: readonly SessionUpdate[], kind: SessionUpdate['sessionUpdate']): string {
  return updates
    .flatMap((update) =>
      update.sessionUpdate === kind && 'content' in update ? [JSON.stringify(update.content)] : [],
    )
    .map((json) => (JSON.parse(json) as { readonly text?: string }).text ?? '')
    .join('');
}

test('a loaded session has the messages, calls and plan of the live session', async () => {
  const tasks = [{ text: 'Look', state: 'doing' }];
  const { sent, before, settled } = await updatesOf(
    {
      content: {
        parts: [
          { kind: 'reasoning', text: 'I must look.', form: 'full' },
          'I look.',
          toolCall('c1', 'read', { path: 'a.txt' }),
          toolCall('c2', 'todo', { tasks }),
        ],
      },
    },
    'It is there.',
  );
  for (const updates of [sent, before]) {
    expect(textOf(updates, 'user_message_chunk')).toBe('Go');
    expect(textOf(updates, 'agent_message_chunk')).toBe('I look.It is there.');
    expect(textOf(updates, 'agent_thought_chunk')).toBe('I must look.');
  }
  const plan = { content: 'Look', priority: 'medium', status: 'in_progress' };
  expect(sent).toContainEqual({ sessionUpdate: 'plan', entries: [plan] });
  expect(before.at(-1)).toEqual({ sessionUpdate: 'plan', entries: [plan] });
  const call = before.find(({ sessionUpdate }) => sessionUpdate === 'tool_call');
  expect(call).toMatchObject({
    ...{ toolCallId: 'c1', kind: 'read', status: 'completed', title: 'read a.txt' },
    ...{ locations: [{ path: '/folder/a.txt' }], rawInput: { path: 'a.txt' } },
  });
  expect(JSON.stringify(call)).toContain('The text of a.txt');
  const statuses = sent.flatMap((update) =>
    'status' in update && update.status !== undefined ? [update.status] : [],
  );
  expect(statuses).toEqual(['pending', 'in_progress', 'completed']);
  expect(settled).toEqual(before);
});

test('text of a superseded attempt is not loaded, and its calls fail', async () => {
  const { sent, before } = await updatesOf(
    {
      content: { parts: ['Half an', toolCall('c1', 'read', { path: 'a.txt' })] },
      fault: { type: 'cut', after: 4 },
    },
    'A whole answer.',
  );
  expect(textOf(sent, 'agent_message_chunk')).toMatch(/^Half.*A whole answer\.$/);
  expect(textOf(before, 'agent_message_chunk')).toBe('A whole answer.');
  const open = new Set<string>();
  for (const update of sent) {
    if (update.sessionUpdate === 'tool_call') open.add(update.toolCallId);
    if (update.sessionUpdate === 'tool_call_update' && update.status === 'failed')
      open.delete(update.toolCallId);
  }
  expect([...open]).toEqual([]);
});
