import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import type { ProviderErrorKind, RetryAdvice } from '../contract/provider-error.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import {
  jsonReply,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import { finishEvent, sseText, textEvent } from '../testing/chat-events.ts';
import { helloItems } from '../testing/hello-items.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

// Real error responses of providers and the kind of failure that they mean, tested through a
// provider.

let server: ScriptedServer;
const clock = new VirtualClock();
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(async () => {
  await server.close();
  expect(clock.pending).toBe(0);
});

async function replied(reply: Reply): Promise<Completion> {
  server.reply(reply);
  const provider = openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
  return provider.complete({ items: helloItems });
}

type Body = string | object;
type Case = readonly [name: string, status: number, body: Body, code?: string];

function errorReply(status: number, body: Body, headers: Record<string, string> = {}): Reply {
  return typeof body === 'string'
    ? { status, headers, steps: [body] }
    : jsonReply(status, body as never, headers);
}

const openai = (message: string, type: string, code: string | null = null) => ({
  error: { message, type, param: null, code },
});
const anthropic = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_011',
});
const gemini = (code: number, status: string, message: string, ...details: object[]) => ({
  error: { code, message, status, details },
});
const mistral = (message: string, type: string) => ({
  object: 'error',
  message,
  type,
  param: null,
  code: null,
});

const table: Readonly<
  Record<string, { readonly retry: RetryAdvice; readonly cases: readonly Case[] }>
> = {
  invalid_request: {
    retry: 'no',
    cases: [
      [
        'OpenAI',
        400,
        openai("Unknown parameter: 'x'.", 'invalid_request_error', 'unknown_parameter'),
      ],
      [
        'a model that is not',
        404,
        openai('The model `m` does not exist', 'invalid_request_error', 'model_not_found'),
        'model_not_found',
      ],
      ['a method that is not', 405, { detail: 'Method Not Allowed' }],
      [
        'FastAPI',
        422,
        { detail: [{ loc: ['body', 'model'], msg: 'field required', type: 'missing' }] },
      ],
      [
        'Anthropic',
        400,
        anthropic('invalid_request_error', 'max_tokens: Field required'),
        'invalid_request_error',
      ],
      [
        'Gemini',
        400,
        gemini(400, 'INVALID_ARGUMENT', 'Unknown name "x": Cannot find field.'),
        'INVALID_ARGUMENT',
      ],
      [
        'Mistral, with an object for a message',
        422,
        {
          object: 'error',
          message: {
            detail: [{ type: 'missing', loc: ['body', 'model'], msg: 'Field required' }],
          },
          type: 'invalid_request_error',
        },
      ],
      ['Cohere', 400, { message: 'invalid request: message must be at least 1 token long' }],
      [
        'a parameter with safety in its name',
        400,
        openai("Unknown parameter: 'safety_identifier'.", 'invalid_request_error'),
      ],
      ['a JSON body without any known field', 400, { oops: true }],
      ['a status that nobody knows', 418, 'I am a teapot'],
    ],
  },
  context_overflow: {
    retry: 'no',
    cases: [
      [
        'OpenAI',
        400,
        openai(
          "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
          'invalid_request_error',
          'context_length_exceeded',
        ),
        'context_length_exceeded',
      ],
      [
        'OpenAI Responses',
        400,
        openai(
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
          'invalid_request_error',
          'context_length_exceeded',
        ),
      ],
      [
        'Anthropic',
        400,
        anthropic('invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'),
      ],
      [
        'Anthropic with max_tokens',
        400,
        anthropic(
          'invalid_request_error',
          'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000',
        ),
      ],
      [
        'Anthropic, too many bytes',
        413,
        anthropic('request_too_large', 'Request exceeds the maximum size'),
      ],
      [
        'Gemini',
        400,
        gemini(
          400,
          'INVALID_ARGUMENT',
          'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        ),
      ],
      ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
      [
        'xAI',
        400,
        {
          code: 'Client specified an invalid argument',
          error:
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
      ],
      [
        'Groq',
        400,
        openai(
          'Please reduce the length of the messages or completion.',
          'invalid_request_error',
          'context_length_exceeded',
        ),
      ],
      [
        'OpenRouter',
        400,
        {
          error: {
            message:
              "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
            code: 400,
          },
        },
      ],
      [
        'Copilot',
        400,
        openai(
          'prompt token count of 150000 exceeds the limit of 128000',
          'invalid_request_error',
          'model_max_prompt_tokens_exceeded',
        ),
      ],
      [
        'llama.cpp',
        400,
        {
          error: {
            code: 400,
            message: 'the request exceeds the available context size, try increasing it',
            type: 'exceed_context_size_error',
          },
        },
      ],
      [
        'LM Studio',
        400,
        {
          error:
            'The number of tokens to keep from the initial prompt is greater than the context length.',
        },
      ],
      ['MiniMax', 400, { error: { message: 'invalid params, context window exceeds limit' } }],
      [
        'Kimi',
        400,
        openai(
          'Invalid request: Your request exceeded model token limit: 262144',
          'invalid_request_error',
        ),
      ],
      [
        'Mistral',
        400,
        mistral(
          'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
          'invalid_request_error',
        ),
      ],
      [
        'Cohere',
        400,
        {
          message:
            'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.',
        },
      ],
      [
        'Fireworks',
        400,
        openai(
          'The prompt is too long: 140000, model maximum context length: 131071',
          'invalid_request_error',
        ),
      ],
      [
        'Together',
        422,
        openai(
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000',
          'invalid_request_error',
        ),
      ],
      [
        'vLLM',
        400,
        {
          object: 'error',
          message:
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
          type: 'BadRequestError',
          code: 400,
        },
      ],
      [
        'SGLang',
        400,
        {
          object: 'error',
          message:
            "The input (4100 tokens) is longer than the model's context length (4096 tokens).",
          type: 'BadRequest',
          code: 400,
        },
      ],
      ['z.ai', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
      [
        'Qwen',
        400,
        openai(
          'Range of input length should be [1, 30720]',
          'invalid_request_error',
          'invalid_parameter_error',
        ),
      ],
      ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 12 tokens' }],
      [
        'GitHub Models',
        413,
        openai(
          'Request body too large for gpt-4o model. Max size: 8000 tokens.',
          'tokens_limit_reached',
          'tokens_limit_reached',
        ),
      ],
      ['a proxy', 413, '<html><head><title>413 Request Entity Too Large</title></head></html>'],
    ],
  },
  history_rejected: {
    retry: 'once_without_reasoning',
    cases: [
      [
        'Anthropic, a signature',
        400,
        anthropic(
          'invalid_request_error',
          'messages.1.content.0: Invalid `signature` in `thinking` block',
        ),
      ],
      [
        'Anthropic, no thinking',
        400,
        anthropic(
          'invalid_request_error',
          'messages.3.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.',
        ),
      ],
      [
        'Anthropic, changed thinking',
        400,
        anthropic(
          'invalid_request_error',
          'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
        ),
      ],
      [
        'Anthropic, thinking at the end',
        400,
        anthropic(
          'invalid_request_error',
          'messages.1: The final block in an assistant message cannot be `thinking`.',
        ),
      ],
      [
        'Anthropic, thinking in the last word while it is off',
        400,
        anthropic(
          'invalid_request_error',
          'messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.',
        ),
      ],
      [
        'Responses, reasoning that was not stored',
        404,
        openai(
          "Item with id 'rs_0a1b' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
          'invalid_request_error',
        ),
      ],
      [
        'Anthropic, a call without a result',
        400,
        anthropic(
          'invalid_request_error',
          'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01',
        ),
      ],
      [
        'Anthropic, a result without a call',
        400,
        anthropic(
          'invalid_request_error',
          'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
        ),
      ],
      [
        'OpenAI, a call without a result',
        400,
        openai(
          "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
          'invalid_request_error',
        ),
      ],
      [
        'OpenAI, a result without a call',
        400,
        openai(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          'invalid_request_error',
        ),
      ],
      [
        'Responses, no output',
        400,
        openai('No tool output found for function call call_1.', 'invalid_request_error'),
      ],
      [
        'Responses, no call',
        400,
        openai(
          'No tool call found for function call output with call_id call_1.',
          'invalid_request_error',
        ),
      ],
      [
        'Responses, reasoning alone',
        400,
        openai(
          "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
          'invalid_request_error',
        ),
      ],
      [
        'Responses, a call without reasoning',
        400,
        openai(
          "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
          'invalid_request_error',
        ),
      ],
      [
        'Responses, encrypted content',
        400,
        openai(
          'The encrypted content gAAA...SQ== could not be verified.',
          'invalid_request_error',
          'invalid_encrypted_content',
        ),
      ],
      [
        'Gemini, a thought signature',
        400,
        gemini(
          400,
          'INVALID_ARGUMENT',
          'Function call is missing a thought_signature in functionCall parts.',
        ),
      ],
      [
        'Gemini, a signature of another',
        400,
        gemini(400, 'INVALID_ARGUMENT', 'Thought signature is not valid'),
      ],
      [
        'Gemini, the number of results',
        400,
        gemini(
          400,
          'INVALID_ARGUMENT',
          'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
        ),
      ],
      [
        'DeepSeek',
        400,
        openai(
          'The reasoning_content in the thinking mode must be passed back to the API.',
          'invalid_request_error',
        ),
      ],
      [
        'Mistral',
        400,
        mistral(
          'Not the same number of function calls and responses',
          'invalid_request_message_order',
        ),
      ],
      [
        'Bedrock',
        400,
        {
          message:
            'Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1',
        },
      ],
    ],
  },
  auth: {
    retry: 'no',
    cases: [
      [
        'OpenAI',
        401,
        openai(
          'Incorrect API key provided: abc***xyz.',
          'invalid_request_error',
          'invalid_api_key',
        ),
        'invalid_api_key',
      ],
      ['Anthropic', 401, anthropic('authentication_error', 'invalid x-api-key')],
      [
        'Gemini',
        400,
        gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'API_KEY_INVALID',
        }),
      ],
      [
        'xAI',
        400,
        {
          code: 'Client specified an invalid argument',
          error: 'Incorrect API key provided: xa***al.',
        },
      ],
      ['Mistral', 401, { detail: 'Unauthorized' }],
      ['nothing said', 401, ''],
    ],
  },
  permission: {
    retry: 'no',
    cases: [
      [
        'Anthropic',
        403,
        anthropic(
          'permission_error',
          'Your API key does not have permission to use the specified resource.',
        ),
      ],
      [
        'Gemini',
        403,
        gemini(403, 'PERMISSION_DENIED', 'Generative Language API has not been used in project 1'),
      ],
      [
        'AWS, whose signature is no thought',
        403,
        {
          message:
            'The request signature we calculated does not match: missing or invalid signature',
        },
      ],
      [
        'Cloudflare',
        403,
        '<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head></html>',
      ],
    ],
  },
  quota: {
    retry: 'no',
    cases: [
      [
        'OpenAI',
        429,
        openai(
          'You exceeded your current quota, please check your plan and billing details.',
          'insufficient_quota',
          'insufficient_quota',
        ),
        'insufficient_quota',
      ],
      ['a balance', 402, openai('Insufficient Balance', 'unknown_error', 'invalid_request_error')],
      [
        'OpenRouter',
        402,
        {
          error: {
            message: 'This request requires more credits, or fewer max_tokens.',
            code: 402,
          },
        },
      ],
      ['nothing said', 402, ''],
      [
        'credit_balance_exhausted',
        429,
        { error: { code: 'credit_balance_exhausted', message: 'No credits' } },
      ],
      [
        'a spend limit',
        429,
        { error: { code: 'project_spend_limit_exceeded', message: 'Limit reached' } },
      ],
      [
        'Anthropic, a spend limit',
        429,
        {
          type: 'error',
          error: {
            type: 'rate_limit_error',
            message: 'This request would exceed your limit',
            details: { error_code: 'enforced_spend_limit_reached' },
          },
        },
      ],
      [
        'Anthropic, no credit',
        400,
        anthropic(
          'invalid_request_error',
          'Your credit balance is too low to access the Anthropic API.',
        ),
      ],
      [
        'Gemini, no free tier',
        429,
        gemini(
          429,
          'RESOURCE_EXHAUSTED',
          'Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-2.5-pro',
        ),
      ],
      [
        'xAI',
        403,
        {
          code: 'The caller does not have permission',
          error:
            'Your team has either used all available credits or reached its monthly spending limit.',
        },
      ],
      [
        'Moonshot',
        429,
        openai(
          'You exceeded your current token quota, please check your account balance',
          'exceeded_current_quota_error',
        ),
      ],
    ],
  },
  rate_limit: {
    retry: 'yes',
    cases: [
      [
        'OpenAI',
        429,
        openai(
          'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.',
          'tokens',
          'rate_limit_exceeded',
        ),
        'rate_limit_exceeded',
      ],
      [
        'Anthropic',
        429,
        anthropic('rate_limit_error', "This request would exceed your organization's rate limit"),
      ],
      [
        'Gemini, which also calls it a quota',
        429,
        gemini(
          429,
          'RESOURCE_EXHAUSTED',
          'You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: requests, limit: 0.5',
        ),
      ],
      [
        'Bedrock, which counts tokens',
        429,
        { message: 'Too many tokens, please wait before trying again.' },
      ],
      ['Mistral', 429, mistral('Requests rate limit exceeded', 'rate_limited')],
      [
        'Cohere',
        429,
        { message: 'You are using a Trial key, which is limited to 10 API calls / minute.' },
      ],
      ['nothing said', 429, ''],
    ],
  },
  overloaded: {
    retry: 'yes',
    cases: [
      ['Anthropic', 529, anthropic('overloaded_error', 'Overloaded')],
      [
        'OpenAI',
        503,
        openai('The engine is currently overloaded, please try again later', 'server_error'),
      ],
      [
        'Gemini',
        503,
        gemini(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
      ],
      [
        'llama.cpp',
        503,
        { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
      ],
      ['Groq, flexible', 498, openai('Flex tier capacity exceeded', 'flex', 'capacity_exceeded')],
      ['a proxy', 503, '<html><h1>503 Service Unavailable</h1></html>'],
    ],
  },
  server: {
    retry: 'yes',
    cases: [
      [
        'OpenAI',
        500,
        openai('The server had an error while processing your request', 'server_error'),
      ],
      ['Anthropic', 500, anthropic('api_error', 'Internal server error')],
      [
        'a proxy',
        502,
        '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body></html>',
      ],
      [
        'OpenRouter, with what is behind it',
        502,
        {
          error: {
            message: 'Provider returned error',
            code: 502,
            metadata: { raw: '{"error":"context length"}', provider_name: 'X' },
          },
        },
      ],
      ['a gateway', 504, 'upstream request timeout'],
      ['408', 408, ''],
      ['409', 409, openai('Conflict', 'conflict')],
      ['424', 424, { detail: 'Failed dependency' }],
      ['Cloudflare', 520, ''],
    ],
  },
  model_output_invalid: {
    retry: 'no',
    cases: [
      [
        'Groq',
        400,
        {
          error: {
            message: 'Failed to call a function. Please adjust your prompt.',
            type: 'invalid_request_error',
            code: 'tool_use_failed',
            failed_generation: '<function=x',
          },
        },
        'tool_use_failed',
      ],
    ],
  },
  filtered: {
    retry: 'no',
    cases: [
      [
        'Azure',
        400,
        {
          error: {
            message:
              "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            code: 'content_filter',
            innererror: { code: 'ResponsibleAIPolicyViolation' },
          },
        },
        'content_filter',
      ],
      [
        'Anthropic',
        400,
        anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
      ],
      [
        'OpenRouter',
        403,
        {
          error: {
            message: 'Your chosen model requires moderation and your input was flagged',
            code: 403,
            metadata: { reasons: ['x'] },
          },
        },
      ],
      [
        'OpenAI',
        400,
        openai(
          'Your request was rejected as a result of our safety system.',
          'image_generation_user_error',
          'moderation_blocked',
        ),
      ],
    ],
  },
};

describe.each(Object.entries(table))('%s', (kind, { retry, cases }) => {
  const named = cases.map(([name, status, body, code]) => ({ name, status, body, code }));
  test.each(named)('$name, $status', async ({ status, body, code }) => {
    const { error, stop, item, usage } = await replied(errorReply(status, body));
    expect(error).toMatchObject({
      kind,
      code: kind,
      status,
      retry,
      provider: expect.stringMatching(/^openai-compatible@/),
    });
    expect(error?.retryable).toBe(retry === 'yes' || retry === 'once');
    if (code !== undefined) expect(error?.providerCode).toBe(code);
    expect(stop).toMatchObject({ reason: 'error', cause: kind });
    expect(stop.raw).toBe(error?.providerCode);
    expect(item.parts).toEqual([]);
    // A rejected request costs nothing.
    expect(usage).toMatchObject({ input: 0, output: 0 });
  });
});

describe('an error inside a stream has its kind too', () => {
  const cases: readonly (readonly [ProviderErrorKind, string, object])[] = [
    ['rate_limit', 'OpenAI', openai('Rate limit reached', 'tokens', 'rate_limit_exceeded')],
    [
      'rate_limit',
      'Bedrock',
      { error: { type: 'throttlingException', message: 'Too many tokens, please wait' } },
    ],
    ['rate_limit', 'Gemini', gemini(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted')],
    [
      'rate_limit',
      'Azure, whose status is a text',
      { error: { code: '429', message: 'Please slow your pace' } },
    ],
    [
      'quota',
      'OpenAI',
      openai('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota'),
    ],
    ['overloaded', 'Anthropic', anthropic('overloaded_error', 'Overloaded')],
    ['overloaded', 'Gemini', gemini(503, 'UNAVAILABLE', 'The model is overloaded.')],
    ['overloaded', 'OpenAI', openai('Please wait', 'server_error', 'slow_down')],
    [
      'server',
      'OpenRouter',
      { error: { code: 502, message: 'Provider returned error' }, choices: [] },
    ],
    ['server', 'OpenAI', openai('The server had an error', 'server_error')],
    [
      'server',
      'vLLM',
      {
        object: 'error',
        message: 'EngineCore encountered an issue',
        type: 'InternalServerError',
        code: 500,
      },
    ],
    ['server', 'a text', { error: 'Something broke' }],
    [
      'context_overflow',
      'LM Studio',
      { error: { message: 'Reached context length of 4096 tokens with this model' } },
    ],
    [
      'invalid_request',
      'Gemini',
      gemini(400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'),
    ],
    [
      'invalid_request',
      'Bedrock',
      { error: { type: 'validationException', message: 'Malformed input' } },
    ],
    ['auth', 'Gemini', gemini(401, 'UNAUTHENTICATED', 'Request had invalid credentials.')],
    ['permission', 'Gemini', { error: { status: 'PERMISSION_DENIED', message: 'No' } }],
    ['timeout', 'Anthropic', anthropic('timeout_error', 'The request took too long')],
    [
      'model_output_invalid',
      'Groq',
      {
        error: { message: 'Failed to call a function', code: 'tool_use_failed', status_code: 400 },
      },
    ],
    ['filtered', 'OpenAI', openai('Blocked', 'invalid_request_error', 'content_policy_violation')],
  ];
  test.each(cases)('%s: %s', async (kind, _name, body) => {
    const bytes = sseText(textEvent('a'), JSON.stringify(body), finishEvent(), '[DONE]');
    const { error, text, usage } = await replied(streamReply([bytes]));
    expect(error?.kind).toBe(kind);
    expect(text).toBe('a');
    // The request was accepted, so it used tokens.
    expect(usage.estimated).toBe(true);
    expect(usage.input).toBeGreaterThan(0);
  });
});

describe('the message', () => {
  test('names the provider, what happened, the reason and what to do', async () => {
    const { error } = await replied(errorReply(401, openai('Incorrect API key provided.', 'x')));
    expect(error?.message).toMatch(
      /^openai-compatible@[\d.:]+ did not accept the API key: Incorrect API key provided\. Check the key$/,
    );
    expect(error?.info).toEqual({ code: 'auth', message: error?.message });
  });

  test('contains a field of another shape', async () => {
    const message = async (status: number, body: Body) =>
      (await replied(errorReply(status, body))).error?.message;
    expect(await message(422, { detail: [{ msg: 'field required' }] })).toContain('field required');
    expect(await message(422, mistral('', 'x'))).toContain('"object":"error"');
    expect(await message(500, { error: { metadata: {} } })).toContain('{"metadata":{}}');
    expect(await message(502, { error: { message: 'no', metadata: { raw: 'behind' } } })).toContain(
      'no (behind)',
    );
  });

  test('has the title of a web page, not the page', async () => {
    const page = '<html>\n<head><title> 502 Bad Gateway </title></head><body>x</body></html>';
    const { error } = await replied(errorReply(502, page));
    expect(error?.message).toContain('failed: 502 Bad Gateway. Try again');
  });

  test('has a limited length', async () => {
    for (const body of ['x'.repeat(60_000), openai('x'.repeat(60_000), 'y'.repeat(60_000))]) {
      const { error } = await replied(errorReply(500, body));
      expect(error?.message.length).toBeLessThan(600);
      expect(error?.providerCode?.length ?? 0).toBeLessThan(600);
    }
    const spaces = `a${' '.repeat(60_000)}b`;
    expect((await replied(errorReply(500, spaces))).error?.message.length).toBeLessThan(600);
  });

  test('of a body without end is read only so far, and the connection closed', async () => {
    server.reply({
      status: 500,
      steps: [...Array(20).fill('x'.repeat(10_000)), { type: 'stall' }],
    });
    const provider = openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
    const { error } = await provider.complete({ items: helloItems });
    expect(error?.kind).toBe('server');
    expect(await server.requests.at(-1)?.closed).toBe('client');
  });
});

describe('the id of the request', () => {
  test.each([
    'x-request-id',
    'request-id',
    'apim-request-id',
    'x-goog-request-id',
    'x-amzn-requestid',
  ])('is in the header %s', async (name) => {
    const { error } = await replied(errorReply(500, 'no', { [name]: 'req_1' }));
    expect(error).toMatchObject({ requestId: 'req_1', place: { requestId: 'req_1' } });
  });

  test('is in the body', async () => {
    const { error } = await replied(errorReply(500, anthropic('api_error', 'no')));
    expect(error?.requestId).toBe('req_011');
    const inner = { error: { message: 'no', request_id: 'req_2' } };
    expect((await replied(errorReply(500, inner))).error?.requestId).toBe('req_2');
  });

  test('is that of the failed stream', async () => {
    const reply = streamReply([sseText(textEvent('a'))], { 'x-request-id': 'req_3' });
    expect((await replied(reply)).error).toMatchObject({
      kind: 'truncated_stream',
      requestId: 'req_3',
    });
  });
});

describe('x-should-retry', () => {
  test.each<[string, number, Body, RetryAdvice]>([
    ['true', 400, 'no', 'yes'],
    ['false', 500, 'no', 'no'],
    ['maybe', 500, 'no', 'yes'],
    ['true', 401, 'no', 'yes'],
  ])('%s counts for a %d', async (advice, status, body, retry) => {
    const { error } = await replied(errorReply(status, body, { 'x-should-retry': advice }));
    expect(error?.retry).toBe(retry);
    expect(error?.retryable).toBe(retry === 'yes' || retry === 'once');
  });

  test('is about the same request, so it does not apply to one without its reasoning', async () => {
    const body = anthropic('invalid_request_error', 'Invalid `signature` in `thinking` block');
    const { error } = await replied(errorReply(400, body, { 'x-should-retry': 'false' }));
    expect(error?.retry).toBe('once_without_reasoning');
  });

  test('does not count for a successful response', async () => {
    const reply = streamReply([sseText(textEvent('a'))], { 'x-should-retry': 'false' });
    expect((await replied(reply)).error?.retry).toBe('yes');
  });
});

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308, 304])(
    '%d is not followed, and the key goes nowhere',
    async (status) => {
      await using other = await startScriptedServer(() =>
        streamReply([sseText(textEvent('stolen'))]),
      );
      const before = server.requests.length;
      const { error, text } = await replied({
        status,
        headers: { location: `${other.url}/chat/completions?secret=1` },
        steps: [],
      });
      expect(error).toMatchObject({ kind: 'invalid_request', status, retryable: false });
      expect(error?.message).toContain(
        `redirects to ${other.url}/chat/completions (status ${status})`,
      );
      expect(error?.message).not.toContain('secret');
      expect(text).toBe('');
      expect(other.requests).toEqual([]);
      expect(other.openConnections).toBe(0);
      expect(server.requests).toHaveLength(before + 1);
    },
  );
});

describe('an error response without a body', () => {
  const refused = async (status: number, length: number) => {
    server.reply({ status, steps: [] });
    const provider = openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
    const user = 'some words '.repeat(length / 11);
    const providerOptions = { 'openai-compatible': { user } };
    return (await provider.complete({ items: helloItems, providerOptions })).error;
  };

  test.each([400, 413])('is an overflow where the request was long: %d', async (status) => {
    expect((await refused(status, 33_000))?.kind).toBe('context_overflow');
  });

  test.each([400, 413])('is none where it was short: %d', async (status) => {
    expect((await refused(status, 30_000))?.kind).toBe('invalid_request');
  });
});

describe('an error as JSON', () => {
  test('contains all fields except the cause', async () => {
    const { error } = await replied(
      jsonReply(429, openai('Slow down', 'rate', 'rpm'), {
        'x-request-id': 'r1',
        'retry-after': '2',
      }),
    );
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      kind: 'rate_limit',
      message: expect.stringMatching(
        /^openai-compatible@\S+ received too many requests: Slow down\. Wait, then try again$/,
      ),
      provider: expect.stringMatching(/^openai-compatible@/),
      status: 429,
      providerCode: 'rpm',
      requestId: 'r1',
      retry: 'yes',
      retryAfterMs: 2000,
    });
  });
});

describe('a network error', () => {
  const provider = (options: object) =>
    openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock, ...options });

  test('is reported for a server that does not exist', async () => {
    const gone = await startScriptedServer();
    await gone.close();
    const { error, usage } = await provider({ baseUrl: gone.url }).complete({ items: helloItems });
    // Nobody starts the server while the retries wait.
    expect(error).toMatchObject({ kind: 'network', retry: 'once' });
    expect(error?.message).toContain(`nothing listens at ${new URL(gone.url).host}`);
    expect(error?.cause).toMatchObject({ cause: { cause: { code: 'ECONNREFUSED' } } });
    expect(usage.input).toBe(0);
  });

  test('is reported for a server that does not speak HTTP', async () => {
    expect((await replied({ raw: ['SSH-2.0-OpenSSH_9.6\r\n'] })).error?.kind).toBe('network');
  });

  test.each<[string, () => Promise<Response>, string]>([
    [
      'throws at once',
      () => {
        throw new Error('no fetch here');
      },
      'no fetch here',
    ],
    ['rejects with a text', () => Promise.reject('no'), ': no. '],
    ['rejects with nothing', () => Promise.reject(undefined), 'there is no reason'],
    ['rejects with an odd thing', () => Promise.reject(Object.create(null)), 'there is no reason'],
    [
      'tried several addresses',
      () => {
        const cause = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' });
        return Promise.reject(new TypeError('fetch failed', { cause }));
      },
      'nothing listens at 127.0.0.1',
    ],
  ])('is reported for a fetch that %s', async (_, fetcher, reason) => {
    const { error } = await provider({ fetch: fetcher }).complete({ items: helloItems });
    expect(error?.kind).toBe('network');
    expect(error?.message).toContain(reason);
  });

  test('is not reported for an invalid address', async () => {
    for (const baseUrl of ['htp:// no', 'http://user:pass@127.0.0.1:1']) {
      const { error } = await provider({ baseUrl }).complete({ items: helloItems });
      expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    }
  });
});

describe('a request that cannot be sent', () => {
  const provider = (options: object) =>
    openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock, ...options });

  test('for a header is invalid, and the header is named', async () => {
    for (const value of ['a\nb', 'ä€']) {
      const { error } = await provider({ headers: { 'x-team': value } }).complete({
        items: helloItems,
      });
      expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
      expect(error?.message).toContain('the header x-team has a value that cannot be sent');
      expect(error?.message).not.toContain(value);
    }
  });

  test('for its body is invalid', async () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const providerOptions of [{ big: 1n }, circle]) {
      const { error } = await provider({}).complete({
        items: helloItems,
        providerOptions: providerOptions as never,
      });
      expect(error?.kind).toBe('invalid_request');
      expect(error?.message).toMatch(/^Cannot send the request to \S+: providerOptions\./);
    }
  });

  test('for a value that is not an item is invalid, and the stream does not throw', async () => {
    const { error } = await provider({}).complete({ items: [null as never] });
    expect(error?.kind).toBe('invalid_request');
    expect(error?.message).toContain('items[0] is null');
  });

  test.each([undefined, ''])(
    'for its key (%j) is reported as such, with the remedy',
    async (apiKey) => {
      const { error } = await openaiChat({
        model: 'm',
        apiKey,
        clock,
        preset: 'openai',
        dialect: { keyVariables: ['MILLRACE_NO_SUCH_KEY'] },
      }).complete({ items: helloItems });
      expect(error).toMatchObject({ kind: 'auth', retryable: false });
      expect(error?.message).toBe(
        'Cannot send the request to openai: there is no API key: pass apiKey or set MILLRACE_NO_SUCH_KEY',
      );
    },
  );
});
