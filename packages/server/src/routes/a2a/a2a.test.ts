import type { Task } from '@a2a-js/sdk';
import { defineTool } from '@millrace/agent';
import { toolCallId, toolCallPart } from '@millrace/core';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  A2aTranscript,
  a2aBindings,
  a2aClient,
  dataPart,
  sent,
  textOf,
  transcriptOf,
} from '../../testing/a2a/a2a-client.ts';
import { serveOpenAi as serve } from '../../testing/openai-client.ts';

const remove = defineTool({
  ...{ name: 'remove', description: 'Removes a file', input: z.object({ path: z.string() }) },
  execute: async ({ path }) => `Removed ${path}`,
});
const weather = defineTool({
  ...{ name: 'weather', description: 'Weather', input: z.object({ town: z.string() }) },
  execute: async ({ town }) => {
    if (town === 'Nowhere') throw new Error('No such town');
    return `Sun in ${town}`;
  },
});
/** A model that writes some words and then waits for its abort. */
const endless: ScriptEntry = { content: { parts: ['One two three four'] }, pauseMs: 10_000_000 };

describe.each(a2aBindings)('24.5: with the binding %s', (binding) => {
  test('a text is streamed as an artifact, and the next task continues the context', async () => {
    const { url } = await serve(['Hello there.', ({ items }) => `You sent ${items.length} items.`]);
    const client = await a2aClient(url, { binding });
    const first = await new A2aTranscript().read(client.sendMessageStream(sent('Hi')));
    expect(first.kinds[0]).toBe('task');
    expect(first.kinds.at(-1)).toBe('statusUpdate');
    expect([first.state, first.texts]).toEqual(['TASK_STATE_COMPLETED', ['Hello there.']]);
    const { contextId } = first;
    const second = transcriptOf(await client.sendMessage(sent('And?', { contextId })));
    expect([second.state, second.texts, second.contextId]).toEqual([
      ...['TASK_STATE_COMPLETED', ['You sent 3 items.'], contextId],
    ]);
    expect(second.id).not.toBe(first.id);
    const read = await client.getTask({ tenant: '', id: second.id, historyLength: 1 });
    expect(transcriptOf(read).texts).toEqual(second.texts);
    expect(read.history.map(({ messageId, parts }) => [messageId.length, parts.length])).toEqual([
      [36, 1],
    ]);
  });

  test('reasoning and parallel calls are messages, in the stream and in the history', async () => {
    const calls = [toolCall('weather', { town: 'Bath' }), toolCall('weather', { town: 'Nowhere' })];
    const thought = { kind: 'reasoning', form: 'full', text: 'Let me think.' } as const;
    const { url } = await serve([[thought, 'I look. ', ...calls], 'Sunny.'], {
      agent: { tools: [weather] },
    });
    const client = await a2aClient(url, { binding });
    const live = await new A2aTranscript().read(client.sendMessageStream(sent('Weather?')));
    expect(live.texts).toEqual(['I look. ', 'Sunny.']);
    expect(live.history).toEqual([
      'Let me think.',
      expect.stringMatching(/"tool_call".*Bath/),
      expect.stringMatching(/"tool_call".*Nowhere/),
      expect.stringMatching(/"tool_result".*Sun in Bath/),
      expect.stringMatching(/"tool_result".*No such town/),
    ]);
    const stored = transcriptOf(await client.getTask({ tenant: '', id: live.id }));
    expect([stored.texts, stored.history]).toEqual([live.texts, live.history]);
  });

  test.each([
    ['yes', 'Removed a.txt'],
    ['Not now, please', 'Not now, please'],
    [[dataPart({ approve: true })], 'Removed a.txt'],
    [[dataPart({ id: 'c1', approve: false, reason: 'No' })], 'No'],
    [[dataPart({ maybe: 1 })], 'declined'],
  ])('an approval is input-required, and %j answers it', async (answer, result) => {
    const { url } = await serve([toolCall('remove', { path: 'a.txt' }, 'c1'), 'Done.'], {
      agent: { tools: [remove], approve: () => 'ask' },
    });
    const client = await a2aClient(url, { binding });
    const asked = await client.sendMessage(sent('Remove it'));
    const { id: taskId, contextId, state } = transcriptOf(asked);
    expect(state).toBe('TASK_STATE_INPUT_REQUIRED');
    const { status } = await client.getTask({ tenant: '', id: taskId });
    const [text, data] = status?.message?.parts ?? [];
    expect(text?.content?.value).toMatch(/remove.*a\.txt/s);
    expect(data?.content?.value).toMatchObject({ kind: 'question', id: 'c1', name: 'remove' });
    await expect(client.sendMessage(sent('And?', { contextId }))).rejects.toThrow(
      /waits for an answer/,
    );
    await expect(
      client.sendMessage(sent([dataPart({ id: 'other', approve: true })], { taskId })),
    ).rejects.toThrow(/c1/);
    const live = new A2aTranscript();
    await live.read(client.sendMessageStream(sent(answer, { taskId, contextId })));
    expect([live.id, live.state, live.texts]).toEqual([taskId, 'TASK_STATE_COMPLETED', ['Done.']]);
    expect(live.history.join()).toContain(result);
  });

  test('24.5: the answer to one of two questions returns with the other question', async () => {
    const calls = ['c1', 'c2'].map((id) =>
      toolCallPart(toolCallId(id), 'remove', { path: `${id}.txt` }),
    );
    const { url } = await serve([{ content: { parts: calls } }, 'Done.'], {
      agent: { tools: [remove], approve: () => 'ask' },
    });
    const client = await a2aClient(url, { binding });
    const { id: taskId } = transcriptOf(await client.sendMessage(sent('Remove both')));
    const answer = (id: string) =>
      client.sendMessage(sent([dataPart({ id, approve: true })], { taskId }));
    const first = transcriptOf(await answer('c1'));
    expect(first.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const second = transcriptOf(await answer('c2'));
    expect([second.state, second.texts.at(-1)]).toEqual(['TASK_STATE_COMPLETED', 'Done.']);
  });

  test.each([['yes'], [[dataPart({ approve: true })]]])(
    '18.346: attack: one consent without an id approves several calls: %j',
    async (consent) => {
      const calls = ['c1', 'c2'].map((id) =>
        toolCallPart(toolCallId(id), 'remove', { path: `${id}.txt` }),
      );
      const { url } = await serve([{ content: { parts: calls } }, 'Done.'], {
        agent: { tools: [remove], approve: () => 'ask' },
      });
      const client = await a2aClient(url, { binding });
      const { id: taskId } = transcriptOf(await client.sendMessage(sent('Remove them')));
      await expect(client.sendMessage(sent(consent, { taskId }))).rejects.toThrow(/c1, c2/);
      const answers = [
        dataPart({ id: 'c2', approve: true }),
        dataPart({ id: 'c1', approve: false }),
      ];
      const all = transcriptOf(await client.sendMessage(sent(answers, { taskId })));
      expect(all.state).toBe('TASK_STATE_COMPLETED');
      expect(all.history.join()).toContain('Removed c2.txt');
      expect(all.history.join()).not.toContain('Removed c1.txt');
    },
  );

  test('a cancelled task ends its stream, and cannot be cancelled or continued again', async () => {
    const { url } = await serve([endless]);
    const client = await a2aClient(url, { binding });
    const live = new A2aTranscript();
    const events = client.sendMessageStream(sent('Count'))[Symbol.asyncIterator]();
    while (live.texts.length === 0) live.add((await events.next()).value ?? expect.fail());
    const { id } = live;
    const stopped = await client.cancelTask({ tenant: '', id, metadata: undefined });
    expect(transcriptOf(stopped).state).toBe('TASK_STATE_CANCELED');
    for (let next = await events.next(); !next.done; next = await events.next())
      live.add(next.value);
    expect(live.state).toBe('TASK_STATE_CANCELED');
    await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toMatchObject({
      name: 'TaskNotCancelableError',
    });
    await expect(client.sendMessage(sent('More', { taskId: id }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
    await expect(client.resubscribeTask({ tenant: '', id }).next()).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
  });

  test('a failed request to the model is sent again, and its text is emptied', async () => {
    const half: ScriptEntry = {
      content: { parts: ['A half answer of many words'] },
      fault: { type: 'error', after: 4, error: 'overloaded' },
    };
    const { url } = await serve([half, 'The whole answer.'], {
      agent: { retry: { baseDelayMs: 0 } },
    });
    const client = await a2aClient(url, { binding });
    const live = await new A2aTranscript().read(client.sendMessageStream(sent('Go')));
    expect([live.state, live.texts]).toEqual(['TASK_STATE_COMPLETED', ['The whole answer.']]);
    expect(live.artifacts.size).toBe(2);
    const stored = transcriptOf(await client.getTask({ tenant: '', id: live.id }));
    expect([stored.artifacts.size, stored.texts]).toEqual([1, live.texts]);
  });

  test('an error of the provider is a failed task, and the next task works', async () => {
    const fail: ScriptEntry = {
      content: { parts: ['x'] },
      fault: { type: 'error', after: 0, error: 'auth' },
    };
    const { url } = await serve([fail, 'Fine.']);
    const client = await a2aClient(url, { binding });
    const live = await new A2aTranscript().read(client.sendMessageStream(sent('Go')));
    expect(live.state).toBe('TASK_STATE_FAILED');
    const { status } = await client.getTask({ tenant: '', id: live.id });
    expect(textOf(status?.message?.parts ?? [])).toMatch(/^The run failed: ./);
    const { contextId } = live;
    const next = transcriptOf(await client.sendMessage(sent('Again', { contextId })));
    expect(next.texts).toEqual(['Fine.']);
  });

  test('files go both ways', async () => {
    const draw = defineTool({
      ...{ name: 'draw', description: 'Draws', input: z.object({}) },
      execute: async () => ({
        output: {
          text: 'Drawn',
          attachments: [
            {
              ...{ kind: 'file', name: 'plan.txt', mimeType: 'text/plain' },
              source: { type: 'bytes', bytes: new TextEncoder().encode('A plan') },
            } as const,
          ],
        },
      }),
    });
    const kinds: ScriptEntry = ({ items }) =>
      JSON.stringify(items.find(({ kind }) => kind === 'user')?.parts.map(({ kind }) => kind));
    const { url } = await serve([toolCall('draw'), kinds], { agent: { tools: [draw] } });
    const client = await a2aClient(url, { binding });
    const file = (value: string, mediaType: string, filename = '') => ({
      ...{ metadata: undefined, mediaType, filename },
      content: { $case: 'raw', value: Buffer.from(value) } as const,
    });
    const parts = [file('png', 'image/png'), file('text', 'text/plain', 'a.txt')];
    const task = await client.sendMessage(sent([dataPart({ order: 1 }), ...parts]));
    const { artifacts, history } = task as Task;
    expect(artifacts.map(({ name }) => name)).toEqual(['plan.txt', '']);
    const [plan, answer] = artifacts.map((one) => one.parts[0]);
    expect([plan?.mediaType, plan?.filename]).toEqual(['text/plain', 'plan.txt']);
    expect(answer?.content?.value).toBe('["text","media","file"]');
    expect(history[0]?.parts.map(({ content }) => content?.$case)).toEqual(['data', 'raw', 'raw']);
    const exe = [file('x', 'application/x-unknown')];
    await expect(client.sendMessage(sent(exe))).rejects.toMatchObject({
      name: 'ContentTypeNotSupportedError',
    });
  });

  test('tasks are listed, the newest of each context first', async () => {
    const { url } = await serve(['One.', 'Two.', 'Three.']);
    const client = await a2aClient(url, { binding });
    const ids: string[] = [];
    for (const contextId of ['a', 'b', 'a'])
      ids.push(transcriptOf(await client.sendMessage(sent('Go', { contextId }))).id);
    const list = (more: object) =>
      client.listTasks({
        ...{ tenant: '', contextId: '', status: 0, pageToken: '' },
        ...{ statusTimestampAfter: undefined, ...more },
      } as never);
    const all = await list({});
    expect(all.tasks.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect([all.nextPageToken, all.totalSize]).toEqual(['', 2]);
    expect(all.tasks[0]?.artifacts).toEqual([]);
    const page = await list({ pageSize: 1 });
    expect(page.tasks.map(({ id }) => id)).toEqual([ids[2]]);
    const rest = await list({ pageSize: 1, pageToken: page.nextPageToken });
    expect(rest.tasks.map(({ id }) => id)).toEqual([ids[1]]);
    const own = await list({ contextId: 'a', includeArtifacts: true });
    expect(own.tasks.map(({ id, contextId }) => [id, contextId])).toEqual([
      [ids[2], 'a'],
      [ids[0], 'a'],
    ]);
    expect(transcriptOf(own.tasks[1]).texts).toEqual(['One.']);
    const first = await list({ contextId: 'a', pageSize: 1 });
    const second = await list({ contextId: 'a', pageSize: 1, pageToken: first.nextPageToken });
    expect(second.tasks.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await list({ status: 4 })).tasks).toEqual([]);
    expect((await list({ contextId: 'unknown' })).tasks).toEqual([]);
  });

  test('a message that returns at once is followed by a subscription', async () => {
    const { url } = await serve(['One two three four five six seven.']);
    const client = await a2aClient(url, { binding });
    const { id } = transcriptOf(
      await client.sendMessage(sent('Go', { returnImmediately: true, contextId: 'c' })),
    );
    const live = new A2aTranscript();
    await live.read(client.resubscribeTask({ tenant: '', id })).catch((error: unknown) => {
      // The task can end before the subscription.
      expect(String(error)).toContain('has ended');
    });
    await expect
      .poll(async () => transcriptOf(await client.getTask({ tenant: '', id })).texts)
      .toEqual(['One two three four five six seven.']);
  });

  test('a message that is repeated in its context has no further effect', async () => {
    const { url } = await serve(['One.', 'Two.']);
    const client = await a2aClient(url, { binding });
    const to = { contextId: 'talk', messageId: 'm1' };
    const first = transcriptOf(await client.sendMessage(sent('Go', to)));
    const again = transcriptOf(await client.sendMessage(sent('Go', to)));
    expect([again.id, again.texts]).toEqual([first.id, first.texts]);
    // The same id with another content is another message.
    expect(transcriptOf(await client.sendMessage(sent('More', to))).texts).toEqual(['Two.']);
  });
});
