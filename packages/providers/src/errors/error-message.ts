import type { ProviderErrorKind } from '../contract/provider-error.ts';

/** For each kind: what happened, and what the user can do. */
const phrases: { readonly [Kind in ProviderErrorKind]: readonly [what: string, way: string] } = {
  invalid_request: ['did not accept the request', 'Check the model and the options'],
  context_overflow: [
    'has no room for so long a request',
    'Compact the session or take a model with more context',
  ],
  history_rejected: [
    'did not accept the history',
    'Send it again without the reasoning of earlier turns',
  ],
  auth: ['did not accept the API key', 'Check the key'],
  permission: ['does not allow this key to do that', "Check the key's rights and the model's name"],
  quota: ['says that the quota or credit is used up', 'Add credit or use another key'],
  rate_limit: ['wants fewer requests', 'Wait, then try again'],
  overloaded: ['is overloaded', 'Try again in a while'],
  server: ['failed', 'Try again'],
  network: [
    'could not be reached, or the connection broke',
    'Check the address and the network, then try again',
  ],
  timeout: ['took too long', 'Try again, or allow more time'],
  truncated_stream: ['ended its answer without saying that it was complete', 'Try again'],
  protocol_error: ['sent what is not its protocol', 'Check that the base URL speaks this API'],
  model_output_invalid: [
    'says that the model produced an invalid tool call',
    'Tell the model, or try again',
  ],
  filtered: ['refused the content', 'Change the request or take another model'],
  aborted: ['was stopped', 'Send the request again if that was not meant'],
};

/** The message for a request that was never sent. The reason must say what to do. */
export function messageForUnsent(provider: string, reason: string): string {
  return `${provider} could not be asked: ${reason}`;
}

/** Builds a message of the form "provider did what: reason. What to do". */
export function messageFor(kind: ProviderErrorKind, provider: string, reason: string): string {
  const [what, way] = phrases[kind];
  const because = reason === '' ? '' : `: ${reason.replace(/[.\s]+$/, '')}`;
  return `${provider} ${what}${because}. ${way}`;
}

const maxClippedLength = 500;

/** Shortens a text. Error bodies of proxies can be whole web pages. */
export function clip(text: string): string {
  return text.length > maxClippedLength ? `${text.slice(0, maxClippedLength)}…` : text;
}
