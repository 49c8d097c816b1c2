// Tests every wire format of LiteLLM, as a proxy for llama.cpp with the tiny model of
// make-model.py.
import { afterAll, beforeAll, describe } from 'vitest';
import {
  anthropic,
  gemini,
  openaiChat,
  openaiResponses,
} from '../../packages/providers/src/index.ts';
import {
  litellmKey as apiKey,
  isMissing,
  type ModelServer,
  litellmModel as model,
  startLitellm,
  startLlama,
} from './model-servers.ts';
import { testWire, type WireCase } from './wire-cases.ts';

const contextTokens = 4096;

const wires: readonly WireCase[] = [
  {
    name: 'Chat Completions',
    create: ({ url }) => openaiChat({ preset: 'litellm', baseUrl: `${url}/v1`, model, apiKey }),
  },
  {
    name: 'Responses',
    create: ({ url }) => openaiResponses({ baseUrl: `${url}/v1`, model, apiKey }),
  },
  {
    name: 'Messages',
    create: ({ url }) => anthropic({ baseUrl: url, model, apiKey }),
    // For this wire format, LiteLLM calls llama.cpp's Responses API. It does not forward reasoning
    // and the stop reason `length`.
    loses: ['reasoning', 'length'],
  },
  {
    name: 'Gemini',
    create: ({ url }) => gemini({ baseUrl: `${url}/v1beta`, model, apiKey }),
    loses: ['reasoning'],
  },
];

describe.skipIf(isMissing('llama') || isMissing('litellm'))('LiteLLM', () => {
  let llama: ModelServer;
  let litellm: ModelServer;
  beforeAll(async () => {
    llama = await startLlama({ contextTokens });
    litellm = await startLitellm(llama);
  });
  afterAll(async () => {
    await litellm?.close();
    await llama?.close();
  });

  describe.each(wires)('with $name', (wire) => {
    testWire(wire, { server: () => litellm, llama: () => llama, contextTokens });
  });
});
