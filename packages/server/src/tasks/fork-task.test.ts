import { createAgent } from '@millrace/agent';
import { sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createTaskHarness } from '../testing/servers/task-harness.ts';

async function looped(script: readonly Scripted[]) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(script), log });
  const echo: ServedAgent = { type: 'sync', name: 'echo', onMessage: async (content) => content };
  const stage = await createTaskHarness([{ type: 'loop', name: 'looper', agent }, echo], { log });
  const { id } = await stage.newTask('looper');
  await (await stage.send('looper', id, 'First')).messages();
  await (await stage.send('looper', id, 'Second')).messages();
  const items = async (of: string) => transcript(await snapshot(log, sessionId(of)));
  const texts = async (of: string) =>
    (await items(of)).map(({ parts: [part] }) => (part?.kind === 'text' ? part.text : ''));
  const untilSaid = (of: string, text: string) =>
    expect.poll(async () => (await texts(of)).at(-1), { timeout: 60_000 }).toBe(text);
  return { stage, id, items, texts, untilSaid };
}

test('regenerates the last answer in a new task and leaves the original unchanged', async () => {
  const { stage, id, items, texts, untilSaid } = await looped(['One.', 'Two.', 'Another two.']);
  const before = await texts(id);
  const fork = await stage.service.tasks.fork(id, {});
  await untilSaid(fork.id, 'Another two.');
  expect(await texts(fork.id)).toEqual(['First', 'One.', 'Second', 'Another two.']);
  expect(await texts(id)).toEqual(before);
  const second = (await items(id))[2]?.id;
  expect(fork.task_metadata).toEqual({ branch: { of: id, after: second } });
});

test('replaces an item in a fork that has everything before it', async () => {
  const { stage, id, items, texts, untilSaid } = await looped(['One.', 'Two.', 'Another one.']);
  const [first] = await items(id);
  const content = { type: 'text', author: 'user', content: 'Not the first' } as const;
  const fork = await stage.service.tasks.fork(id, {
    item_id: first?.id ?? '',
    content: { ...content, style: 'static', format: 'plain', attachments: [] },
  });
  await untilSaid(fork.id, 'Another one.');
  expect(await texts(fork.id)).toEqual(['Not the first', 'Another one.']);
  expect(fork.task_metadata).toEqual({ branch: { of: id, after: null } });
});

test('a fork is a normal task: it is listed and answers', async () => {
  const { stage, id, untilSaid } = await looped(['One.', 'Two.', 'Another two.', 'Three.']);
  const fork = await stage.service.tasks.fork(id, {});
  await untilSaid(fork.id, 'Another two.');
  await (await stage.send('looper', fork.id, 'Third')).messages();
  await untilSaid(fork.id, 'Three.');
  expect((await stage.task(fork.id)).status).toBe('RUNNING');
});

test('an unknown item is refused and creates nothing', async () => {
  const { stage, id } = await looped(['One.', 'Two.']);
  const asked = stage.service.tasks.fork(id, { item_id: 'nobody' });
  await expect(asked).rejects.toMatchObject({ code: 'not_found' });
  expect(await stage.log.list()).toHaveLength(1);
});

test('content without the item to replace is refused', async () => {
  const { stage, id } = await looped(['One.', 'Two.']);
  const content = {
    type: 'text',
    author: 'user',
    content: 'x',
    style: 'static',
    format: 'plain',
  } as const;
  const asked = stage.service.tasks.fork(id, { content: { ...content, attachments: [] } });
  await expect(asked).rejects.toMatchObject({ code: 'invalid' });
});

test('only an agent loop can be forked', async () => {
  const { stage } = await looped(['One.', 'Two.']);
  const { id } = await stage.newTask('echo');
  await expect(stage.service.tasks.fork(id, {})).rejects.toMatchObject({ code: 'bad_state' });
});
