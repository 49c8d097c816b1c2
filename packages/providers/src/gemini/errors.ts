import { fault, type WireFault } from '../errors/wire-fault.ts';
import type { StopReasons } from '../wire/response-end.ts';

export const stopReasons: StopReasons = {
  STOP: 'stop',
  // Google does not send this reason, but servers with a compatible API do.
  FUNCTION_CALL: 'tool_use',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
};

/** Maximum length of the cause of a stop. The message of the provider can quote model output of any length. */
const maxShown = 500;

/** Cuts a text before a word, because keys are removed later. A part of a key could remain. */
export function clip(text: string): string {
  if (text.length <= maxShown) return text.toWellFormed();
  return `${text.slice(0, maxShown).replace(/\S+$/, '')}…`.toWellFormed();
}

/**
 * Returns the fault for a finish reason that means failure, with the provider's message. Returns undefined
 * for all other reasons.
 */
export function failureOf(
  finishReason: string,
  message: string | undefined,
): WireFault | undefined {
  const reason = message ?? `it stopped with ${finishReason}`;
  switch (finishReason) {
    case 'MALFORMED_FUNCTION_CALL':
    case 'UNEXPECTED_TOOL_CALL':
      return fault('model_output_invalid', reason, finishReason);
    case 'IMAGE_OTHER':
    case 'NO_IMAGE':
      return fault('server', reason, finishReason);
    default:
      return undefined;
  }
}
