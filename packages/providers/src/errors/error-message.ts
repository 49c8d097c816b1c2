import type { ProviderErrorKind } from '../contract/provider-error.ts';

/** Two texts for each kind of failure: a description of the problem, and a solution for the user. */
const phrases: { readonly [Kind in ProviderErrorKind]: readonly [what: string, way: string] } = {
  invalid_request: ['did not accept the request', 'Check the model and the options'],
  context_overflow: [
    'cannot process a request of this length',
    'Compact the session or use a model with a larger context window',
  ],
  history_rejected: [
    'did not accept the history',
    'Send it again without the reasoning of earlier turns',
  ],
  auth: ['did not accept the API key', 'Check the key'],
  permission: [
    'does not permit this with the API key',
    "Check the key's rights and the model's name",
  ],
  quota: ['reports that the quota or credit is used up', 'Add credit or use another key'],
  rate_limit: ['received too many requests', 'Wait, then try again'],
  overloaded: ['is overloaded', 'Try again in a while'],
  server: ['failed', 'Try again'],
  network: [
    'could not be reached, or the connection broke',
    'Check the address and the network, then try again',
  ],
  timeout: ['took too long', 'Try again, or allow more time'],
  truncated_stream: ['ended the stream before the answer was complete', 'Try again'],
  protocol_error: [
    'sent data that does not match its protocol',
    'Check that the server at the base URL supports this API',
  ],
  model_output_invalid: [
    'reports that the model produced an invalid tool call',
    'Report the error to the model, or try again',
  ],
  filtered: ['refused the content', 'Change the request or use another model'],
  aborted: ['was aborted', 'Send the request again if this was not intended'],
};

/** Builds the message for a request that was never sent. The reason must tell the user what to do. */
export function messageForUnsent(provider: string, reason: string): string {
  return `Cannot send the request to ${provider}: ${reason}`;
}

/** Builds the message for an answer that had started when the connection was lost. */
export function messageForBrokenAnswer(provider: string, reason: string): string {
  return `${provider} broke off its answer: the connection was lost${reasonText(reason)}. Try again`;
}

/** Builds a message with the form "provider and problem: reason. Solution". */
export function messageFor(kind: ProviderErrorKind, provider: string, reason: string): string {
  const [what, way] = phrases[kind];
  return `${provider} ${what}${reasonText(reason)}. ${way}`;
}

function reasonText(reason: string): string {
  return reason === '' ? '' : `: ${reason.replace(/(?<![.\s])[.\s]+$/, '')}`;
}

const maxClippedLength = 500;

/** Shortens a text. The error response of a proxy can be a whole web page. */
export function clip(text: string): string {
  const short = text.length > maxClippedLength ? `${text.slice(0, maxClippedLength)}…` : text;
  return short.toWellFormed();
}
