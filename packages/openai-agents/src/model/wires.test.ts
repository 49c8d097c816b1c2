import { anthropic, gemini, openaiChat, openaiResponses, type Provider } from '@millrace/providers';
import { startScriptedServer } from '@millrace/providers/scripted-server';
import { Agent } from '@openai/agents';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { miller, runnerOf } from '../testing/mill.ts';
import { millraceModels } from './millrace-model.ts';

type Wire = (options: {
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey: string;
}) => Provider;

const wires: Readonly<Record<string, Wire>> = { openaiChat, openaiResponses, anthropic, gemini };

describe.each(Object.entries(wires))('over the wire of %s', (name, wire) => {
  async function connected() {
    const server = await startScriptedServer();
    onTestFinished(() => server.close());
    const provider = wire({ model: 'm', baseUrl: server.url, apiKey: 'nobody' });
    return { server, runner: runnerOf(millraceModels({ provider })) };
  }

  test('a tool and a hand-off run, and the provider gets its signatures back', async () => {
    const { server, runner } = await connected();
    const town = { name: 'weather', arguments: '{"town":"Bath"}', id: 'call_1' };
    server.answer({
      ...{ reasoning: 'Is it wet?', signature: 'c2lnbmVk', text: 'Let me look. ' },
      toolCalls: [town],
    });
    server.answer({ toolCalls: [{ name: 'transfer_to_Baker', arguments: '{}', id: 'call_2' }] });
    server.answer({ text: 'Bread is ready.', usage: { input: 7, output: 3 } });
    const { finalOutput, lastAgent, rawResponses } = await runner.run(miller, 'Bread?');
    expect(finalOutput).toBe('Bread is ready.');
    expect(lastAgent?.name).toBe('Baker');
    expect(rawResponses.at(-1)?.usage).toMatchObject({ inputTokens: 7, outputTokens: 3 });
    const [, second, third] = server.requests;
    if (name !== 'openaiChat') expect(second?.text).toContain('c2lnbmVk');
    expect(second?.text).toContain('rain');
    expect(third?.text).toContain('You bake.');
    server.assertUsedUp();
  });

  test('structured output is the result of the run', async () => {
    const { server, runner } = await connected();
    const counter = new Agent({ name: 'Counter', outputType: z.object({ loaves: z.number() }) });
    server.answer({ text: '{ "loaves": 3 }' });
    expect((await runner.run(counter, 'Bread?')).finalOutput).toEqual({ loaves: 3 });
    expect(server.requests[0]?.text).toContain('loaves');
  });
});
