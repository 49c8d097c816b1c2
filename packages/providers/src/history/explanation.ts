import type { Metadata, TextPart } from '@millrace/core';

/** On the text that says why the model was stopped: a refusal, but the provider's and not the model's. */
export const explanation: Metadata = { refusal: true, isExplanation: true };

/** It is for people: no model is told that it said so. */
export function isExplanation({ metadata }: TextPart): boolean {
  return metadata?.['isExplanation'] === true;
}
