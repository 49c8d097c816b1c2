import type { ModelInfo, ModelTable } from '../contract/model-info.ts';
import { geminiTraits } from './data/gemini-traits.ts';
import { messagesTraits } from './data/messages-traits.ts';
import { otherTraits } from './data/other-traits.ts';
import { type ModelInfoOptions, modelInfo, tableOfText } from './model-info.ts';

/**
 * The limits and abilities of all known models, without prices. The table with prices is larger, so it is
 * separate, and only programs that need prices load it.
 */
export const knownTraits: ModelTable = tableOfText(messagesTraits + geminiTraits + otherTraits);

/**
 * Returns the data about a model for an API that servers of all vendors offer, such as Chat Completions.
 * Providers of a single vendor load only the rows of that vendor.
 */
export function knownModelInfo(
  provider: string,
  model: string,
  options: ModelInfoOptions,
): ModelInfo {
  return modelInfo(knownTraits, provider, model, options);
}
