import type { ProviderErrorKind } from '../contract/provider-error.ts';
import { fault, type WireFault } from '../errors/wire-fault.ts';
import type { StopReasons } from '../wire/response-end.ts';

export const stopReasons: StopReasons = {
  stop: 'stop',
  end: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  stop_sequence: 'stop',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  content_filter: 'content_filter',
  refusal: 'refusal',
};

/** Maps the finish reasons with which some servers report a failure at the end of a stream. */
const failures: Readonly<Record<string, ProviderErrorKind>> = {
  error: 'server',
  insufficient_system_resource: 'overloaded',
};

export function failureOf(finishReason: string): WireFault | undefined {
  const kind = Object.hasOwn(failures, finishReason) ? failures[finishReason] : undefined;
  return kind && fault(kind, `it stopped with ${finishReason}`, finishReason);
}

/** Returns the fault for a stream that uses a different API. The message contains the name of that API. */
export function otherWireFault(type: string): WireFault | undefined {
  const isResponses = type.startsWith('response.');
  if (!isResponses && type !== 'message_start') return undefined;
  const name = isResponses ? 'OpenAI Responses' : 'Anthropic Messages';
  return fault('protocol_error', `the server at this URL uses ${name}, not Chat Completions`);
}
