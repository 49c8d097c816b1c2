import { createAgent, defineTool } from '@millrace/agent';
import { type JsonObject, type Part, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type AgentInfo, createClient, modelsOf } from '../../../client/src/index.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer } from '../create-server.ts';

test('22.10: a message chooses one of the models of its agent', async () => {
  const log = memoryLog();
  const named = (answer: string) => scriptedProvider(Array.from({ length: 4 }, () => answer));
  const models = new Map([
    ['small', named('I am small.')],
    ['large', named('I am large.')],
  ]);
  const agent = createAgent({
    ...{ log, provider: models.get('small') ?? expect.fail() },
    prepareStep: ({ items }) => {
      const model = items.findLast((item) => item.metadata?.['model'])?.metadata?.['model'];
      return { provider: models.get(String(model)) };
    },
  });
  const names = [...models.keys()];
  const { client, url } = await serve({ type: 'loop', name: 'desk', agent, models: names }, log);
  const agents = (await (await fetch(`${url}/agents`)).json()) as readonly AgentInfo[];
  expect(agents.map(modelsOf)).toEqual([names]);
  const task = await client.createTask({ agent: 'desk' });
  const answers = () => task.transcript.filter(({ kind }) => kind === 'assistant');
  const answerTo = async (text: string, model?: string) => {
    const count = answers().length;
    await task.send(text, { model });
    await task.until(({ state }) => state.run === undefined && answers().length > count);
    return answers().at(-1)?.parts;
  };
  onTestFinished(task.subscribe(() => {}));
  expect(await answerTo('Who are you?')).toMatchObject([{ text: 'I am small.' }]);
  expect(await answerTo('And now?', 'large')).toMatchObject([{ text: 'I am large.' }]);
  // The choice stays until a message makes another one.
  expect(await answerTo('Still?')).toMatchObject([{ text: 'I am large.' }]);
  expect(await answerTo('And now?', 'small')).toMatchObject([{ text: 'I am small.' }]);
  await expect(task.send('And now?', { model: 'secret' })).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('It offers small, large'),
  });
});

test('22.forms: the server refuses an answer that does not fit the form, and the question stays', async () => {
  const log = memoryLog();
  const properties = { name: { type: 'string' }, age: { type: 'integer', minimum: 18 } };
  const schema = { type: 'object', properties, required: ['name'] } as JsonObject;
  const signUp = defineTool({
    ...{ name: 'sign_up', description: 'Signs somebody up', input: z.object({}) },
    execute: async (_input, { ask }) => ({ ...(await ask?.({ message: 'Who are you?', schema })) }),
  });
  const call: Part = {
    ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'sign_up', arguments: '{}' },
  };
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'Welcome.']);
  const agent = createAgent({ log, provider, tools: [signUp] });
  const { client } = await serve({ type: 'loop', name: 'desk', agent }, log);
  const task = await client.createTask({ agent: 'desk' });
  onTestFinished(task.subscribe(() => {}));
  await task.send('Sign me up');
  const { state } = await task.until((now) => now.state.asked.length > 0);
  const question = state.asked[0]?.toolCallId ?? expect.fail();
  for (const input of [{ age: 20 }, { name: 'Ada', age: 7 }, 'Ada', undefined])
    await expect(task.approve(question, { input })).rejects.toMatchObject({ status: 422 });
  expect((await task.until(() => true)).state.asked).toHaveLength(1);
  await task.approve(question, { input: { name: 'Ada', age: 36 } });
  await task.until((now) => now.state.run === undefined && now.state.asked.length === 0);
  expect(JSON.stringify(task.transcript)).toContain('36');
});

async function serve(agent: ServedAgent, log: ReturnType<typeof memoryLog>) {
  const server = createServer({ tokens: 'none', agents: [agent], log });
  const { url } = await server.listen({ port: 0 });
  const client = createClient({ url });
  onTestFinished(async () => {
    client.close();
    await server.close();
  });
  return { client, url };
}
