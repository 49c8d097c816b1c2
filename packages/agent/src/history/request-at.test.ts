import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describeModelRequest } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';
import { requestAt } from './request-at.ts';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: z.object({ at: z.string() }),
  effects: 'none',
  execute: async ({ at }) => `Seen: ${at}`,
});

const call = toolCallPart(toolCallId('c1'), 'look', { at: 'it' });

async function ran(script: readonly ScriptEntry[], said: readonly string[]) {
  const log = memoryLog();
  const provider = scriptedProvider(script);
  const options = { log, tools: [look], retry: { baseDelayMs: 1 } };
  const agent = createAgent({ ...options, provider, instructions: 'Look first.' });
  const session = sessionId('s');
  for (const text of said) await agent.run(text, { session }).result;
  const at = (turn: number, attempt = 1) => requestAt(agent, session, { turn, attempt });
  return { log, provider, options, session, at };
}

const looks: ScriptEntry = { content: { parts: ['I look.', call] } };

test('each request is rebuilt as it was sent, whatever happened since', async () => {
  const { provider, at } = await ran([looks, 'It is there.', 'Yes.'], ['Is it there?', 'Sure?']);
  const sent = provider.requests.map(({ request }) => describeModelRequest(request));
  expect(sent).toHaveLength(3);
  for (const [index, one] of sent.entries()) {
    const past = await at(index + 1);
    expect(past?.described).toEqual(one);
    expect(past).toMatchObject({ turn: index + 1, attempt: 1, model: 'script' });
  }
  expect(provider.requests).toHaveLength(3);
});

test('each attempt of a retried turn has its own request', async () => {
  const fault = { type: 'error', after: 1, error: 'overloaded' } as const;
  const cut: ScriptEntry = { content: { parts: ['It is'] }, fault };
  const { provider, at } = await ran([cut, 'It is there.'], ['Is it there?']);
  const [first, second] = provider.requests.map(({ request }) => describeModelRequest(request));
  expect((await at(1, 1))?.described).toEqual(first);
  expect((await at(1, 2))?.described).toEqual(second);
});

test('an unknown attempt has none', async () => {
  const { at } = await ran(['Yes.'], ['Is it there?']);
  expect([await at(1, 2), await at(2), await at(0, 0)]).toEqual([undefined, undefined, undefined]);
});

test('the notes mention changed settings and another model', async () => {
  const { at, options, session } = await ran(['Yes.'], ['Is it there?']);
  const notes = (await at(1))?.notes ?? [];
  expect(notes).toEqual([
    expect.stringContaining('current instructions, tools and settings of the agent'),
  ]);
  const provider = scriptedProvider([], { model: 'newer' });
  const changed = createAgent({ ...options, provider, instructions: 'Guess.' });
  const past = await requestAt(changed, session, { turn: 1, attempt: 1 });
  expect(past).toMatchObject({ provider: 'scripted', model: 'script' });
  expect(past?.notes.join(' ')).toContain(
    'The request used script of scripted. This one is for newer',
  );
  expect(JSON.stringify(past?.described?.body)).toContain('Guess.');
});

test('without describe() the request is shown as the provider receives it', async () => {
  const { options, session } = await ran(['Yes.'], ['Is it there?']);
  const { describe: _none, ...silent } = scriptedProvider([]);
  const past = await requestAt(createAgent({ ...options, provider: silent }), session, {
    turn: 1,
    attempt: 1,
  });
  expect(past?.described?.body['items']).toMatchObject([{ kind: 'user' }]);
  expect(past?.notes.join(' ')).toContain('the input of the provider');
});

test('22.2: a request of an agent of another copy of this package is rebuilt', async () => {
  vi.resetModules();
  const copy = await import('../create-agent.ts');
  expect(copy.createAgent).not.toBe(createAgent);
  const provider = scriptedProvider(['Yes.']);
  const agent = copy.createAgent({ log: memoryLog(), provider });
  await agent.run('Is it there?', { session: 's' }).result;
  const past = await requestAt(agent, 's', { turn: 1, attempt: 1 });
  const [sent] = provider.requests.map(({ request }) => describeModelRequest(request));
  expect(past?.described).toEqual(sent);
  const shallow = { ...agent };
  await expect(requestAt(shallow, 's', { turn: 1, attempt: 1 })).rejects.toThrow('createAgent');
});
