import { countingIds, type Part } from '@millrace/core';
import { ProviderError } from '@millrace/providers';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { Agent, retryPolicies, type StreamEvent } from '@openai/agents';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { call, miller, runnerOf, saying, telling, thought } from '../testing/mill.ts';
import { ask } from '../testing/model-request.ts';
import { MillraceModel, millraceModels } from './millrace-model.ts';

const modelOf = (...script: readonly Scripted[]) =>
  new MillraceModel(telling(script), { ids: countingIds() });

async function all(events: AsyncIterable<StreamEvent>): Promise<readonly StreamEvent[]> {
  const list: StreamEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const run = (script: readonly Scripted[], agent = new Agent({ name: 'Miller' })) =>
  runnerOf(millraceModels({ provider: telling(script) })).run(agent, 'Bread?');

describe('a streamed answer', () => {
  const full: Part = { kind: 'reasoning', form: 'full', text: 'Two stones' };
  const said = saying(thought, full, 'No bread.', call('c', 'weather', { town: 'Bath' }));

  test('has text, reasoning and arguments as they come', async () => {
    const events = await all(modelOf(said).getStreamedResponse(ask()));
    const raw = events.flatMap((event) => (event.type === 'model' ? [event.event] : []));
    const joined = (type: string) =>
      raw.flatMap((event) => (event.type === type ? [event.delta] : [])).join('');
    const texts = events.flatMap((event) => (event.type === 'output_text_delta' ? [event] : []));
    expect(joined('response.reasoning_summary_text.delta')).toBe('Is it wet?');
    expect(joined('response.reasoning_text.delta')).toBe('Two stones');
    expect(joined('response.function_call_arguments.delta')).toBe('{"town":"Bath"}');
    expect(texts.map(({ delta }) => delta).join('')).toBe('No bread.');
    const pieces = raw.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(Math.min(pieces.length, texts.length)).toBeGreaterThan(1);
  });

  test('begins with its start, ends with the whole, and is the same for who does not watch', async () => {
    const events = await all(modelOf(said).getStreamedResponse(ask()));
    const last = events.at(-1);
    const response = last?.type === 'response_done' ? last.response : undefined;
    expect(events[0]).toEqual({ type: 'response_started' });
    expect(response?.output.map(({ type }) => type)).toEqual([
      ...['reasoning', 'reasoning', 'message', 'function_call'],
    ]);
    const { output, responseId } = await modelOf(said).getResponse(ask());
    expect({ output, id: responseId }).toEqual({ output: response?.output, id: response?.id });
  });

  test('counts what was used', async () => {
    const usage = { input: 10, output: 4, cacheRead: 6, reasoning: 1 };
    const response = await modelOf({ content: { parts: ['Yes'] }, usage }).getResponse(ask());
    expect(response.usage).toMatchObject({
      ...{ requests: 1, inputTokens: 10, outputTokens: 4, totalTokens: 14 },
      inputTokensDetails: [{ cached_tokens: 6, cache_write_tokens: 0 }],
      outputTokensDetails: [{ reasoning_tokens: 1 }],
    });
  });
});

describe('a stream that also goes elsewhere', () => {
  test('fails where it cannot be kept, also where nobody began to read it', async () => {
    const send = () => Promise.reject(new Error('The task is gone'));
    const model = new MillraceModel(telling(['No bread.']), { stream: { send } });
    await expect(model.getResponse(ask())).rejects.toThrow('The task is gone');
  });
});

describe('an abort', () => {
  test('stops the provider, and is one to the SDK', async () => {
    const provider = telling([
      { content: { parts: ['Once upon'] }, fault: { type: 'stall', after: 1 } },
    ]);
    const stop = new AbortController();
    const runner = runnerOf(millraceModels({ provider }));
    const running = await runner.run(miller, 'Bread?', { stream: true, signal: stop.signal });
    for await (const event of running) {
      const isWord =
        event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta';
      if (isWord) stop.abort();
    }
    expect(running.cancelled).toBe(true);
    await running.completed;
    expect(running.error).toBeNull();
    expect(provider.calls[0]?.context.signal?.aborted).toBe(true);
  });

  test('of a run that nobody watches rejects with its name', async () => {
    const provider = telling([
      { content: { parts: ['Once upon'] }, fault: { type: 'stall', after: 0 } },
    ]);
    const model = new MillraceModel(provider);
    const stop = new AbortController();
    const asking = model.getResponse(ask({ signal: stop.signal }));
    stop.abort();
    await expect(asking).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('is also what leaving the stream is to the provider', async () => {
    const left = Promise.withResolvers<void>();
    const script = scriptedProvider([{ content: { parts: ['Once upon a time'] } }]);
    const model = new MillraceModel({
      id: 'watched',
      async *stream(request, context) {
        try {
          yield* script.stream(request, context);
        } finally {
          left.resolve();
        }
      },
    });
    for await (const event of model.getStreamedResponse(ask()))
      if (event.type === 'output_text_delta') break;
    await left.promise;
  });
});

describe('a failure', () => {
  const overloaded: Scripted = {
    content: { parts: ['Never said'] },
    fault: { type: 'error', after: 0, error: 'overloaded' },
  };

  test('is the error of the provider', async () => {
    const asking = modelOf(overloaded).getResponse(ask());
    await expect(asking).rejects.toBeInstanceOf(ProviderError);
    await expect(run([overloaded])).rejects.toMatchObject({ kind: 'overloaded' });
  });

  test('is tried again by a policy that asks the provider', async () => {
    const retry = {
      maxRetries: 1,
      policy: retryPolicies.providerSuggested(),
      backoff: { initialDelayMs: 1 },
    };
    const agent = new Agent({ name: 'Miller', modelSettings: { retry } });
    expect((await run([overloaded, 'At last'], agent)).finalOutput).toBe('At last');
    const refused: Scripted = {
      content: { parts: [''] },
      fault: { type: 'error', after: 0, error: 'auth' },
    };
    await expect(run([refused, 'Never'], agent)).rejects.toMatchObject({ kind: 'auth' });
  });

  test('is a stream that no log would take', async () => {
    const swapped: Scripted = {
      content: { parts: ['Once upon a time'] },
      fault: { type: 'swap', after: 1 },
    };
    await expect(modelOf(swapped).getResponse(ask())).rejects.toMatchObject({
      kind: 'protocol_error',
    });
  });
});

describe('an answer that is none', () => {
  test('of no words ends the run', async () => {
    expect((await run([saying(thought)])).finalOutput).toBe('');
  });

  test('that was cut off runs none of its calls', async () => {
    const cut: Scripted = {
      content: { parts: [call('c', 'weather', { town: 'Bath' })] },
      stop: 'length',
    };
    await expect(run([cut, 'Never'], miller)).rejects.toThrow('cut off (length)');
  });

  test('is a refusal to the SDK where it is one', async () => {
    const refusal: Scripted = { content: { parts: ['I would rather not.'] }, stop: 'refusal' };
    await expect(run([refusal])).rejects.toMatchObject({ refusal: 'I would rather not.' });
    const silent: Scripted = { content: { parts: [] }, stop: 'refusal' };
    await expect(run([silent])).rejects.toThrow('refused');
  });
});

test('output by a schema is what the run gives', async () => {
  const agent = new Agent({ name: 'Counter', outputType: z.object({ loaves: z.number() }) });
  const structured: Part = { kind: 'structured', name: 'final_output', value: { loaves: 3 } };
  const provider = telling([saying(structured)]);
  const { finalOutput } = await runnerOf(millraceModels({ provider })).run(agent, 'Bread?');
  expect(finalOutput).toEqual({ loaves: 3 });
  expect(provider.calls[0]?.request.output?.schema).toMatchObject({ required: ['loaves'] });
});

test('models are found by name, and an unknown one is named with those that there are', async () => {
  const models = millraceModels({ provider: telling(), providers: { fast: telling() } });
  for (const name of [undefined, '', 'script', 'fast']) {
    expect(models.getModel(name)).toBeInstanceOf(MillraceModel);
  }
  expect(() => models.getModel('gpt')).toThrow('“gpt”. There are: script, fast');
  expect(() => millraceModels({ providers: {} }).getModel()).toThrow('names no model');
});
