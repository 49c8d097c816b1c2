import type { JsonValue } from '@millrace/core';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { anthropicFaults } from '../scripted-server/rules/anthropic.ts';
import { geminiFaults } from '../scripted-server/rules/gemini.ts';
import { chatFaults } from '../scripted-server/rules/openai-chat.ts';
import { responsesFaults } from '../scripted-server/rules/openai-responses.ts';
import { readAnthropic } from './oracle/anthropic.ts';
import { readChat } from './oracle/chat.ts';
import type { Expected } from './oracle/expected.ts';
import { readGemini } from './oracle/gemini.ts';
import { readResponses } from './oracle/responses.ts';
import type { Wire } from './recordings.ts';

export const readers: Readonly<Record<Wire, (lines: readonly string[]) => Expected>> = {
  'openai-chat': readChat,
  'openai-responses': readResponses,
  anthropic: readAnthropic,
  gemini: readGemini,
};

/** A wire with the oracle and the request rules that check it. */
export interface WireUnderTest {
  readonly wire: Wire;
  /** Creates the provider for the recording with this name. */
  readonly provider: (fetcher: typeof fetch, name: string) => Provider;
  readonly read: (lines: readonly string[]) => Expected;
  /** Returns the violations of the provider's rules in a request. */
  readonly faults: (body: JsonValue, expected: Expected, name?: string) => readonly string[];
}

const apiKey = 'test-key';

export const wireTable: readonly WireUnderTest[] = [
  {
    wire: 'openai-chat',
    provider: (fetcher, name) =>
      openaiChat({ model: 'test', apiKey, fetch: fetcher, preset: presetOf(name) }),
    read: readChat,
    faults: (body) => chatFaults(body, { maxIdLength: 40 }),
  },
  {
    wire: 'openai-responses',
    provider: (fetcher) => openaiResponses({ model: 'test', apiKey, fetch: fetcher }),
    read: readResponses,
    // Some gateways change the ids of items in every event.
    faults: (body, _expected, name) =>
      responsesFaults(body, { takesAnyIds: name?.includes('id-rotation') === true }),
  },
  {
    wire: 'anthropic',
    provider: (fetcher) => anthropic({ model: 'claude-sonnet-4-5', apiKey, fetch: fetcher }),
    read: readAnthropic,
    faults: (body, expected) => anthropicFaults(body, signaturesOf(expected)),
  },
  {
    wire: 'gemini',
    provider: (fetcher) => gemini({ model: 'gemini-3-pro', apiKey, fetch: fetcher }),
    read: readGemini,
    faults: (body, expected) =>
      geminiFaults(body, { ...signaturesOf(expected), needsSignatures: true }),
  },
];

function presetOf(name: string): ChatPreset {
  return name.startsWith('openrouter') ? 'openrouter' : 'openai';
}

/**
 * Returns the signatures for the request rules. The oracle has signatures only for complete
 * responses. For other responses, the signature rules are skipped.
 */
function signaturesOf({ ends, signed }: Expected): { readonly signed?: Expected['signed'] } {
  return ends === 'terminal' ? { signed } : {};
}
