import { countingIds, type Part } from '@millrace/core';
import { ProviderError } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { Agent, retryPolicies, type StreamEvent } from '@openai/agents';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { call, miller, response, runnerOf, scriptedModel, thought } from '../testing/mill.ts';
import { modelRequest } from '../testing/model-request.ts';
import { MillraceModel, millraceModels } from './millrace-model.ts';

const modelOf = (...script: readonly ScriptEntry[]) =>
  new MillraceModel(scriptedModel(script), { ids: countingIds() });

async function all(events: AsyncIterable<StreamEvent>): Promise<readonly StreamEvent[]> {
  const list: StreamEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const run = (script: readonly ScriptEntry[], agent = new Agent({ name: 'Weather' })) =>
  runnerOf(millraceModels({ provider: scriptedModel(script) })).run(agent, 'Bread?');

describe('a streamed answer', () => {
  const full: Part = { kind: 'reasoning', form: 'full', text: 'Two towns' };
  const answer = response(thought, full, 'No bread.', call('c', 'weather', { town: 'Bath' }));

  test('streams text, reasoning and arguments', async () => {
    const events = await all(modelOf(answer).getStreamedResponse(modelRequest()));
    const raw = events.flatMap((event) => (event.type === 'model' ? [event.event] : []));
    const joined = (type: string) =>
      raw.flatMap((event) => (event.type === type ? [event.delta] : [])).join('');
    const texts = events.flatMap((event) => (event.type === 'output_text_delta' ? [event] : []));
    expect(joined('response.reasoning_summary_text.delta')).toBe('Is it wet?');
    expect(joined('response.reasoning_text.delta')).toBe('Two towns');
    expect(joined('response.function_call_arguments.delta')).toBe('{"town":"Bath"}');
    expect(texts.map(({ delta }) => delta).join('')).toBe('No bread.');
    const pieces = raw.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(Math.min(pieces.length, texts.length)).toBeGreaterThan(1);
  });

  test('starts with an event, ends with the response, and equals getResponse', async () => {
    const events = await all(modelOf(answer).getStreamedResponse(modelRequest()));
    const last = events.at(-1);
    const response = last?.type === 'response_done' ? last.response : undefined;
    expect(events[0]).toEqual({ type: 'response_started' });
    expect(response?.output.map(({ type }) => type)).toEqual([
      ...['reasoning', 'reasoning', 'message', 'function_call'],
    ]);
    const { output, responseId } = await modelOf(answer).getResponse(modelRequest());
    expect({ output, id: responseId }).toEqual({ output: response?.output, id: response?.id });
  });

  test('reports the usage', async () => {
    const usage = { input: 10, output: 4, cacheRead: 6, reasoning: 1 };
    const response = await modelOf({ content: { parts: ['Yes'] }, usage }).getResponse(
      modelRequest(),
    );
    expect(response.usage).toMatchObject({
      ...{ requests: 1, inputTokens: 10, outputTokens: 4, totalTokens: 14 },
      inputTokensDetails: [{ cached_tokens: 6, cache_write_tokens: 0 }],
      outputTokensDetails: [{ reasoning_tokens: 1 }],
    });
  });
});

describe('an additional stream', () => {
  test('fails the answer if it rejects, also before the first read', async () => {
    const send = () => Promise.reject(new Error('The task was deleted'));
    const model = new MillraceModel(scriptedModel(['No bread.']), { stream: { send } });
    await expect(model.getResponse(modelRequest())).rejects.toThrow('The task was deleted');
  });
});

describe('an abort', () => {
  test('stops the provider and is an AbortError for the SDK', async () => {
    const provider = scriptedModel([
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
    expect(provider.requests[0]?.context.signal?.aborted).toBe(true);
  });

  test('rejects a run without streaming with an AbortError', async () => {
    const provider = scriptedModel([
      { content: { parts: ['Once upon'] }, fault: { type: 'stall', after: 0 } },
    ]);
    const model = new MillraceModel(provider);
    const stop = new AbortController();
    const asking = model.getResponse(modelRequest({ signal: stop.signal }));
    stop.abort();
    await expect(asking).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('is sent to the provider when the reader leaves the stream', async () => {
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
    for await (const event of model.getStreamedResponse(modelRequest()))
      if (event.type === 'output_text_delta') break;
    await left.promise;
  });
});

describe('a failure', () => {
  const overloaded: ScriptEntry = {
    content: { parts: ['Never said'] },
    fault: { type: 'error', after: 0, error: 'overloaded' },
  };

  test('is the error of the provider', async () => {
    const asking = modelOf(overloaded).getResponse(modelRequest());
    await expect(asking).rejects.toBeInstanceOf(ProviderError);
    await expect(run([overloaded])).rejects.toMatchObject({ kind: 'overloaded' });
  });

  test('is retried by a policy that follows the provider', async () => {
    const retry = {
      maxRetries: 1,
      policy: retryPolicies.providerSuggested(),
      backoff: { initialDelayMs: 1 },
    };
    const agent = new Agent({ name: 'Weather', modelSettings: { retry } });
    expect((await run([overloaded, 'At last'], agent)).finalOutput).toBe('At last');
    const refused: ScriptEntry = {
      content: { parts: [''] },
      fault: { type: 'error', after: 0, error: 'auth' },
    };
    await expect(run([refused, 'Never'], agent)).rejects.toMatchObject({ kind: 'auth' });
  });

  test('is an invalid stream', async () => {
    const swapped: ScriptEntry = {
      content: { parts: ['Once upon a time'] },
      fault: { type: 'swap', after: 1 },
    };
    await expect(modelOf(swapped).getResponse(modelRequest())).rejects.toMatchObject({
      kind: 'protocol_error',
    });
  });
});

describe('an answer without a result', () => {
  test('that is empty ends the run', async () => {
    expect((await run([response(thought)])).finalOutput).toBe('');
  });

  test('that was cut runs none of its calls', async () => {
    const cut: ScriptEntry = {
      content: { parts: [call('c', 'weather', { town: 'Bath' })] },
      stop: 'length',
    };
    await expect(run([cut, 'Never'], miller)).rejects.toThrow('cut off (length)');
  });

  test('that is a refusal is one for the SDK', async () => {
    const refusal: ScriptEntry = { content: { parts: ['I would rather not.'] }, stop: 'refusal' };
    await expect(run([refusal])).rejects.toMatchObject({ refusal: 'I would rather not.' });
    const silent: ScriptEntry = { content: { parts: [] }, stop: 'refusal' };
    await expect(run([silent])).rejects.toThrow('refused');
  });
});

test('structured output is the result of the run', async () => {
  const agent = new Agent({ name: 'Counter', outputType: z.object({ loaves: z.number() }) });
  const structured: Part = { kind: 'structured', name: 'final_output', value: { loaves: 3 } };
  const provider = scriptedModel([response(structured)]);
  const { finalOutput } = await runnerOf(millraceModels({ provider })).run(agent, 'Bread?');
  expect(finalOutput).toEqual({ loaves: 3 });
  expect(provider.requests[0]?.request.output?.schema).toMatchObject({ required: ['loaves'] });
});

test('models are found by name, and the error for an unknown one lists the known models', async () => {
  const models = millraceModels({
    provider: scriptedModel(),
    providers: { fast: scriptedModel() },
  });
  for (const name of [undefined, '', 'script', 'fast']) {
    expect(models.getModel(name)).toBeInstanceOf(MillraceModel);
  }
  expect(() => models.getModel('gpt')).toThrow('“gpt”. There are: script, fast');
  expect(() => millraceModels({ providers: {} }).getModel()).toThrow('names no model');
});
