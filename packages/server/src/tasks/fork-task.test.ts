import { AgentError, createAgent } from '@millrace/agent';
import { sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createTaskHarness } from '../testing/servers/task-harness.ts';

async function looped(script: readonly ScriptEntry[]) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(script), log });
  const echo: ServedAgent = { type: 'sync', name: 'echo', onMessage: async (content) => content };
  const harness = await createTaskHarness([{ type: 'loop', name: 'looper', agent }, echo], { log });
  const { id } = await harness.newTask('looper');
  await (await harness.send('looper', id, 'First')).messages();
  await (await harness.send('looper', id, 'Second')).messages();
  const items = async (of: string) => transcript(await snapshot(log, sessionId(of)));
  const texts = async (of: string) =>
    (await items(of)).map(({ parts: [part] }) => (part?.kind === 'text' ? part.text : ''));
  const untilAnswered = (of: string, text: string) =>
    expect.poll(async () => (await texts(of)).at(-1), { timeout: 60_000 }).toBe(text);
  return { harness, id, items, texts, untilAnswered };
}

test('regenerates the last answer in a new task and leaves the original unchanged', async () => {
  const { harness, id, items, texts, untilAnswered } = await looped([
    'One.',
    'Two.',
    'Another two.',
  ]);
  const before = await texts(id);
  const fork = await harness.service.tasks.fork(id, {});
  await untilAnswered(fork.id, 'Another two.');
  expect(await texts(fork.id)).toEqual(['First', 'One.', 'Second', 'Another two.']);
  expect(await texts(id)).toEqual(before);
  const second = (await items(id))[2]?.id;
  expect(fork.task_metadata).toEqual({ branch: { of: id, after: second } });
});

test('replaces an item in a fork that has everything before it', async () => {
  const { harness, id, items, texts, untilAnswered } = await looped([
    'One.',
    'Two.',
    'Another one.',
  ]);
  const [first] = await items(id);
  const content = { type: 'text', author: 'user', content: 'Not the first' } as const;
  const fork = await harness.service.tasks.fork(id, {
    item_id: first?.id ?? '',
    content: { ...content, style: 'static', format: 'plain', attachments: [] },
  });
  await untilAnswered(fork.id, 'Another one.');
  expect(await texts(fork.id)).toEqual(['Not the first', 'Another one.']);
  expect(fork.task_metadata).toEqual({ branch: { of: id, after: null } });
});

test('18.814: a fork or a branch of an agent whose runs are workflows is refused with the reason', async () => {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(['One.']), log });
  const unsupported = () => {
    throw new AgentError('bad_option', 'Cannot do this: its runs are workflows');
  };
  // An agent of another package has no settings of this package.
  const named = Object.fromEntries(Object.entries(agent)) as typeof agent;
  const workflow = { ...named, regenerate: unsupported, edit: unsupported };
  const served = { type: 'loop', name: 'looper', agent: workflow } as const;
  const { service, newTask, send } = await createTaskHarness([served], { log });
  const { id } = await newTask('looper');
  await (await send('looper', id, 'First')).messages();
  const refused = { code: 'invalid', message: expect.stringContaining('Cannot ') };
  await expect(service.tasks.fork(id, {})).rejects.toMatchObject(refused);
  await expect(service.tasks.branch(id, { at: 3 })).rejects.toMatchObject(refused);
});

test('attack 18.279: a branch does not contain the message that an edit replaced', async () => {
  const { harness, id, items, untilAnswered } = await looped(['One.', 'Two.', 'Another two.']);
  const [, , second] = await items(id);
  const content = { type: 'text', author: 'user', content: 'Not the same' } as const;
  const fork = await harness.service.tasks.fork(id, {
    item_id: second?.id ?? '',
    content: { ...content, style: 'static', format: 'plain', attachments: [] },
  });
  await untilAnswered(fork.id, 'Another two.');
  const { records } = await harness.log.read(fork.id);
  expect(JSON.stringify(records)).toContain('First');
  expect(JSON.stringify(records)).not.toContain('Second');
});

test('a fork is a normal task: it is listed and answers', async () => {
  const { harness, id, untilAnswered } = await looped(['One.', 'Two.', 'Another two.', 'Three.']);
  const fork = await harness.service.tasks.fork(id, {});
  await untilAnswered(fork.id, 'Another two.');
  await (await harness.send('looper', fork.id, 'Third')).messages();
  await untilAnswered(fork.id, 'Three.');
  expect((await harness.task(fork.id)).status).toBe('RUNNING');
});

test('an unknown item is refused and creates nothing', async () => {
  const { harness, id } = await looped(['One.', 'Two.']);
  const requests = harness.service.tasks.fork(id, { item_id: 'nobody' });
  await expect(requests).rejects.toMatchObject({ code: 'not_found' });
  expect(await harness.log.list()).toHaveLength(1);
});

test('content without the item to replace is refused', async () => {
  const { harness, id } = await looped(['One.', 'Two.']);
  const content = {
    type: 'text',
    author: 'user',
    content: 'x',
    style: 'static',
    format: 'plain',
  } as const;
  const requests = harness.service.tasks.fork(id, { content: { ...content, attachments: [] } });
  await expect(requests).rejects.toMatchObject({ code: 'invalid' });
});

test('only an agent loop can be forked', async () => {
  const { harness } = await looped(['One.', 'Two.']);
  const { id } = await harness.newTask('echo');
  await expect(harness.service.tasks.fork(id, {})).rejects.toMatchObject({ code: 'bad_state' });
});
