// This program serves one agent with files in a folder and reports its progress. Usage: crashing-server.ts
// <folder> sync|async|loop. The test kills the process in the middle of an answer.
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { randomIds } from '@millrace/core';
import { systemClock } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { sendToParent } from '../../../../log/src/testing/start-process.ts';
import type { ContentInput } from '../../contract/content.ts';
import type { UpdateInput } from '../../contract/message.ts';
import type { HandlerContext, ServedAgent } from '../../contract/served-agent.ts';
import { sqliteRows } from '../../rows/sqlite/sqlite-rows.ts';
import { createTaskService } from '../../tasks/create-task-service.ts';

const [folder = '', kind = ''] = process.argv.slice(2);
const content: ContentInput = { type: 'text', author: 'user', content: 'Go' };

async function* words(): AsyncGenerator<string> {
  for (let n = 1; ; n++) {
    yield `word${n} `;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const sync: ServedAgent = {
  ...{ type: 'sync', name: 'dying' },
  async *onMessage(): AsyncGenerator<UpdateInput> {
    yield { type: 'full', index: 0, content: { ...content, author: 'agent', content: 'First' } };
    for await (const text_delta of words())
      yield { type: 'delta', index: 1, delta: { type: 'text', text_delta } };
  },
};
const onEvent = async (_event: unknown, { stream }: HandlerContext) => {
  const message = await stream.open({ type: 'text', author: 'agent', content: '' });
  for await (const text_delta of words())
    await message.write({ type: 'delta', delta: { type: 'text', text_delta } });
};

const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
const log = sqliteLog({ path: join(folder, 'log.db') });
const loop = () => {
  const text = Array.from({ length: 10_000 }, (_, n) => `word${n + 1} `).join('');
  const script = [{ content: { parts: [text] }, pauseMs: 0, pieces: 'token' }] as const;
  return createAgent({ provider: scriptedProvider(script), log });
};
const agents: Readonly<Record<string, () => ServedAgent>> = {
  sync: () => sync,
  async: () => ({ type: 'async', name: 'dying', onEvent }),
  loop: () => ({ type: 'loop', name: 'dying', agent: loop() }),
};
const agent = agents[kind]?.() ?? sync;
const rows = sqliteRows({ path: join(folder, 'rows.db') });
const service = createTaskService({
  ...{ agents: [agent], log, rows, clock: systemClock, ids, secret: 'a secret' },
});
await service.start();
const { id } = await service.agents.get({ name: 'dying' });
const task = await service.tasks.create(id, { name: 'doomed' });
if (kind !== 'async') {
  const body = { task_id: task.id, content: parsed() };
  const answer = await service.tasks.sendMessage(id, body, { key: 'key' });
  for await (const { type, index, parent_task_message } of answer.updates())
    sendToParent({ type, index, id: parent_task_message?.id, task: task.id });
} else {
  await service.tasks.sendEvent(id, { task_id: task.id, content: parsed() }, { key: 'key' });
  sendToParent({ type: 'sent', task: task.id });
  for (;;) {
    const page = { taskId: task.id, limit: 1, direction: 'newer', filters: [] } as const;
    const [message] = (await service.messages.page(page)).data;
    if (message !== undefined) sendToParent({ type: 'delta', task: task.id, id: message.id });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function parsed() {
  const head = { author: 'user', style: 'static', format: 'plain', attachments: null } as const;
  return { type: 'text', ...head, content: 'Go' } as const;
}
