import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  type LanguageModelV4,
  type LanguageModelV4StreamPart,
  LoadAPIKeyError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { countingIds, type Item, itemId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import { type AiSdkOptions, fromAiSdk } from './index.ts';

const secret = 'my private words';

/** The end of a call whose model does this. */
function endOf(
  doStream: LanguageModelV4['doStream'],
  options?: AiSdkOptions,
  items: readonly Item[] = [],
): Promise<Completion> {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'maker',
    modelId: 'm-1',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('never called')),
    doStream,
  };
  return fromAiSdk(model, options).complete({ items }, { ids: countingIds() });
}

const refused = async (error: unknown, options?: AiSdkOptions) =>
  (await endOf(() => Promise.reject(error), options)).error;

/** The error of a stream that sends some text and then this error part. */
const streamed = async (error: unknown) => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-delta', id: 't', delta: 'half' },
    { type: 'error', error },
    { type: 'text-delta', id: 't', delta: ' never heard' },
  ];
  return endOf(async () => ({ stream: ReadableStream.from(parts) }));
};

const apiError = (fields: Partial<ConstructorParameters<typeof APICallError>[0]>) =>
  new APICallError({
    message: 'Bad',
    url: 'https://x.test/',
    requestBodyValues: { messages: [secret] },
    ...fields,
  });

const body = (error: object) => JSON.stringify({ error });

describe('a request that is answered with an error', () => {
  test.each([
    [400, { message: 'no such option' }, 'invalid_request', 'no'],
    [
      400,
      { message: 'the prompt is too long', code: 'context_length_exceeded' },
      'context_overflow',
      'no',
    ],
    [401, { message: 'bad key' }, 'auth', 'no'],
    [403, { message: 'not yours' }, 'permission', 'no'],
    [404, { message: 'no model' }, 'invalid_request', 'no'],
    [429, { message: 'slow down' }, 'rate_limit', 'yes'],
    [429, { message: 'pay', code: 'insufficient_quota' }, 'quota', 'no'],
    [500, { message: 'oops' }, 'server', 'yes'],
    [529, { message: 'busy', type: 'overloaded_error' }, 'overloaded', 'yes'],
  ])('status %i with %o is %s', async (statusCode, complaint, kind, retry) => {
    const error = await refused(apiError({ statusCode, responseBody: body(complaint) }));
    expect(error).toMatchObject({ kind, retry, status: statusCode, provider: 'maker' });
    expect(error?.message).toContain(complaint.message);
  });

  test('its headers are used: the delay, the request id, the retry advice', async () => {
    const error = await refused(
      apiError({
        statusCode: 429,
        responseBody: body({ message: 'slow', code: 'rl' }),
        responseHeaders: {
          'retry-after': '7',
          'x-request-id': 'q-1',
          'x-should-retry': 'false',
          'bad name': 'x',
        },
      }),
    );
    expect(error).toMatchObject({
      retryAfterMs: 7000,
      requestId: 'q-1',
      retry: 'no',
      providerCode: 'rl',
    });
  });

  test('the retry flag of a package overrides the status', async () => {
    const never = await refused(
      apiError({ statusCode: 500, responseBody: '{}', isRetryable: false }),
    );
    expect(never).toMatchObject({ kind: 'server', retry: 'no' });
    const again = await refused(
      apiError({ statusCode: 400, responseBody: '{}', isRetryable: true }),
    );
    expect(again?.retry).toBe('yes');
  });

  test('an empty body with status 400 is a context that overflowed, if the request was long', async () => {
    const empty = () => Promise.reject(apiError({ statusCode: 400, responseBody: '' }));
    const said = (text: string): Item => ({
      id: itemId('u'),
      kind: 'user',
      parts: [{ kind: 'text', text }],
    });
    const long = await endOf(empty, {}, [said('long '.repeat(20_000))]);
    expect(long.error?.kind).toBe('context_overflow');
    const short = await endOf(empty, {}, [said('short')]);
    expect(short.error?.kind).toBe('invalid_request');
  });

  test('a body that the package did not keep is read from its data or its message', async () => {
    const byData = await refused(
      apiError({
        statusCode: 400,
        data: { error: { message: 'x', code: 'context_length_exceeded' } },
      }),
    );
    expect(byData?.kind).toBe('context_overflow');
    const byMessage = await refused(
      apiError({ statusCode: 400, message: 'maximum context length' }),
    );
    expect(byMessage?.kind).toBe('context_overflow');
  });

  test('an error of a gateway, which is of another class, is read by its status', async () => {
    const gateway = Object.assign(new Error('wait'), {
      statusCode: 429,
      type: 'rate_limit_exceeded',
    });
    expect(await refused(gateway)).toMatchObject({ kind: 'rate_limit', status: 429 });
  });

  test('no part of the request and no key is in it', async () => {
    const error = await refused(
      apiError({
        statusCode: 401,
        responseBody: body({ message: 'wrong key sk-abcdefghijklmnop and Bearer team-token-1' }),
      }),
      { headers: { authorization: 'Bearer team-token-1' } },
    );
    const told = JSON.stringify([error?.message, error?.cause, error?.place]);
    expect(told).not.toContain('sk-abcdefghijklmnop');
    expect(told).not.toContain('team-token-1');
    expect(told).not.toContain(secret);
    expect(error?.cause).toBeUndefined();
  });
});

describe('a request that is not answered', () => {
  const refusedSocket = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  test.each([
    [
      'wrapped by the package',
      apiError({ message: 'Cannot connect to API', cause: refusedSocket, isRetryable: true }),
    ],
    ['as fetch throws it', new TypeError('fetch failed', { cause: refusedSocket })],
    ['as a socket throws it', refusedSocket],
    [
      'that broke within the answer',
      apiError({ statusCode: 200, cause: new TypeError('terminated') }),
    ],
  ])('a connection error is network: %s', async (_, error) => {
    expect(await refused(error)).toMatchObject({ kind: 'network', retry: 'yes' });
  });

  test('a missing key is auth, and says what the package says', async () => {
    const error = await refused(new LoadAPIKeyError({ message: 'Set MAKER_API_KEY' }));
    expect(error?.kind).toBe('auth');
    expect(error?.message).toContain('Set MAKER_API_KEY');
  });

  test.each([
    [
      'unsupported',
      new UnsupportedFunctionalityError({ functionality: 'video' }),
      'invalid_request',
    ],
    [
      'invalid prompt',
      new InvalidPromptError({ prompt: secret, message: 'no' }),
      'invalid_request',
    ],
    ['empty body', new EmptyResponseBodyError(), 'truncated_stream'],
    ['timeout of its own', new DOMException('too slow', 'TimeoutError'), 'timeout'],
    [
      'named by the provider',
      Object.assign(new Error('slow down'), { name: 'ThrottlingException' }),
      'rate_limit',
    ],
    ['a mistake over the request', new TypeError('x is undefined'), 'invalid_request'],
    ['thrown as nothing', undefined, 'server'],
  ])('an error of the package is classified by its name: %s', async (_, error, kind) => {
    const found = await refused(error);
    expect(found?.kind).toBe(kind);
    expect(JSON.stringify(found?.cause ?? null)).not.toContain(secret);
  });

  test('a package that throws at once ends the call like one that rejects', async () => {
    const { error } = await endOf(() => {
      throw new LoadAPIKeyError({ message: 'no key' });
    });
    expect(error?.kind).toBe('auth');
  });

  test('circular causes are followed to a limited depth', async () => {
    const error = apiError({ message: 'round' });
    Object.assign(error, { cause: error });
    expect((await refused(error))?.kind).toBeDefined();
  });
});

describe('an error within the stream', () => {
  test.each([
    ['the provider’s object', { message: 'busy', type: 'overloaded_error' }, 'overloaded'],
    [
      'a whole body',
      { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } },
      'rate_limit',
    ],
    ['a text', 'Rate limit reached', 'rate_limit'],
    ['a text that is JSON', body({ message: 'x', code: 'insufficient_quota' }), 'quota'],
    [
      'an error of the API',
      apiError({ statusCode: 529, responseBody: body({ message: 'busy' }) }),
      'overloaded',
    ],
    ['nothing', undefined, 'server'],
    ['a mistake over the answer', new TypeError('x is undefined'), 'protocol_error'],
    ['what JSON cannot say', 12n, 'server'],
    [
      'an event that is no JSON',
      new JSONParseError({ text: secret, cause: null }),
      'protocol_error',
    ],
    [
      'an event of another form',
      new TypeValidationError({ value: { x: secret }, cause: null }),
      'protocol_error',
    ],
    [
      'a complaint in a form that the package does not know',
      new TypeValidationError({ value: { error: { code: 503, message: 'no' } }, cause: null }),
      'overloaded',
    ],
    ['data that is not valid', new InvalidResponseDataError({ data: secret }), 'protocol_error'],
    [
      'the package’s word for a cut stream',
      new InvalidResponseDataError({
        data: 1,
        message: 'Response stream ended without a finish reason.',
      }),
      'truncated_stream',
    ],
  ])('%s is read: %o is %s', async (_, given, kind) => {
    const { error, stop, item } = await streamed(given);
    expect(error?.kind).toBe(kind);
    expect(stop).toMatchObject({ reason: 'error', cause: kind });
    expect(item.parts).toEqual([{ kind: 'text', text: 'half', partial: true }]);
    expect(JSON.stringify([error?.message, error?.cause ?? null])).not.toContain(secret);
  });

  test('the id of the request is known from the headers of the answer', async () => {
    const { error } = await endOf(async () => ({
      stream: ReadableStream.from<LanguageModelV4StreamPart>([{ type: 'error', error: 'x' }]),
      response: { headers: { 'x-request-id': 'q-2' } },
    }));
    expect(error).toMatchObject({ requestId: 'q-2', status: undefined });
  });

  test('a stream that breaks is network, and what had come is kept', async () => {
    let pulls = 0;
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue({ type: 'text-delta', id: 't', delta: 'half' });
        else controller.error(new TypeError('terminated'));
      },
    });
    const { error, item } = await endOf(async () => ({ stream }));
    expect(error?.kind).toBe('network');
    expect(item.parts).toEqual([{ kind: 'text', text: 'half', partial: true }]);
  });
});
