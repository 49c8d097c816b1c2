import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import type { ServedAgent, ServerOptions } from '@millrace/server';
import { expect, test } from 'vitest';
import { serving } from '../testing/serving.ts';

const reads: ScriptEntry = ({ items }) => {
  const files = items.flatMap(({ parts }) => parts).filter((part) => part.kind === 'file');
  const texts = files.map(({ name, mimeType, source }) => {
    const text = source.type === 'bytes' ? new TextDecoder().decode(source.bytes) : source.type;
    return `${name} (${mimeType}): ${text}`;
  });
  return texts.join('; ');
};

const echo: ServedAgent = {
  type: 'sync',
  name: 'echo',
  async onMessage(content, { files }) {
    const [file] = (content.type === 'text' && content.attachments) || [];
    const text = new TextDecoder().decode(await files.read(file?.file_id ?? 'none'));
    return { type: 'text', author: 'agent', content: `${file?.name}: ${text}` };
  },
};

async function open(limits: ServerOptions['limits'] = {}) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider([reads, reads, reads]), log });
  const served = await serving([{ type: 'loop', name: 'reader', agent }, echo], { log, limits });
  const client = served.client();
  const newTask = async (name = 'reader') => {
    const { id } = await client.createTask({ agent: name });
    return client.task(id);
  };
  return { ...served, client, newTask };
}

type Tasks = Awaited<ReturnType<typeof open>>;
type Handle = Awaited<ReturnType<Tasks['newTask']>>;

/** Waits for the answer to the first message and returns its text. */
async function answerOf(task: Handle): Promise<string> {
  const { items } = await task.until(
    (snapshot) => !snapshot.isRunning && snapshot.items.at(-1)?.kind === 'assistant',
  );
  const [part] = items.at(-1)?.parts ?? [];
  return part?.kind === 'text' ? part.text : '';
}

const note = () => new Blob(['The kettle is broken.'], { type: 'text/plain' });

test('an uploaded file reaches the model of an agent loop, and its blob can be read', async () => {
  const task = await (await open()).newTask();
  const attachment = await task.upload(note(), { name: 'Küche 1.txt' });
  expect(attachment).toMatchObject({ name: 'Küche 1.txt', type: 'text/plain', size: 21 });
  expect(await task.upload(note(), { name: 'Küche 1.txt' })).toEqual(attachment);
  await task.send({ type: 'text', content: '', attachments: [attachment] });
  expect(await answerOf(task)).toBe('Küche 1.txt (text/plain): The kettle is broken.');
  const [file] = task.transcript[0]?.parts ?? [];
  expect(file?.kind === 'file' && file.source.type).toBe('blob');
  const hash = file?.kind === 'file' && file.source.type === 'blob' ? file.source.hash : '';
  expect(await (await task.blob(hash)).text()).toBe('The kettle is broken.');
});

test('a handler of an agent can read an uploaded file', async () => {
  const task = await (await open()).newTask('echo');
  const attachment = await task.upload(note(), { name: 'note.txt' });
  await task.send({ type: 'text', content: 'See', attachments: [attachment] });
  expect(await answerOf(task)).toBe('note.txt: The kettle is broken.');
});

test('the file of another task is refused, and its bytes cannot be read', async () => {
  const { newTask, url } = await open();
  const [task, other] = [await newTask(), await newTask()];
  const attachment = await task.upload(note(), { name: 'note.txt' });
  const content = { type: 'text', content: 'See', attachments: [attachment] } as const;
  await expect(other.send(content)).rejects.toMatchObject({ code: 'not_found' });
  const read = (id: string) => fetch(`${url}/tasks/${id}/files/${attachment.file_id}`);
  expect((await read(other.id)).status).toBe(404);
  const own = await read(task.id);
  expect(await own.text()).toBe('The kettle is broken.');
  expect(own.headers.get('content-disposition')).toBe('attachment');
});

test('a fork can send the files of the session that it copies', async () => {
  const { client, newTask, url } = await open();
  const task = await newTask();
  const attachment = await task.upload(note(), { name: 'note.txt' });
  const content = { type: 'text', author: 'user', attachments: [attachment] };
  await task.send({ type: 'text', content: 'See', attachments: [attachment] });
  await answerOf(task);
  let { id } = task;
  for (const text of ['Again', 'And again']) {
    const [first] = (await client.task(id).until(({ items }) => items.length > 0)).items;
    const response = await fetch(`${url}/tasks/${id}/fork`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ item_id: first?.id, content: { ...content, content: text } }),
    });
    expect(response.status).toBe(201);
    ({ id } = (await response.json()) as { readonly id: string });
    expect(await answerOf(client.task(id))).toBe('note.txt (text/plain): The kettle is broken.');
  }
});

test('a file that is too large, empty or badly named is refused with the reason', async () => {
  const { newTask, url } = await open({ maxFileBytes: 10 });
  const task = await newTask();
  await expect(task.upload(note(), { name: 'a' })).rejects.toMatchObject({ code: 'too_large' });
  await expect(task.upload(new Blob([]), { name: 'a' })).rejects.toThrow('an empty file');
  await expect(task.upload(new Blob(['a']), { name: 'a\nb' })).rejects.toThrow('control');
  const path = `${url}/tasks/${task.id}/files?name=a`;
  const asText = await fetch(path, { method: 'POST', body: 'text' });
  expect([asText.status, await asText.text()]).toEqual([415, expect.stringContaining('octet')]);
});

test('a message with too many files is refused as a whole', async () => {
  const task = await (await open()).newTask();
  const attachment = await task.upload(note(), { name: 'note.txt' });
  const attachments = Array.from({ length: 21 }, () => attachment);
  const sent = task.send({ type: 'text', content: 'See', attachments });
  await expect(sent).rejects.toThrow('at most 20 files');
});

test('attachments with ids of the application stay data of the message', async () => {
  const task = await (await open()).newTask();
  const attachment = { file_id: 'mine', name: 'a.png', type: 'image/png', size: 3 };
  await task.send({ type: 'text', content: 'See', attachments: [attachment] });
  expect(await answerOf(task)).toBe('');
  expect(task.transcript[0]?.parts[0]?.metadata).toEqual({ attachments: [attachment] });
});
