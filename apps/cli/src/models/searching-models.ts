import type { ModelConfig } from '../contract/config.ts';
import { splitModelName } from './model-name.ts';

/** Matches the part of a model's name with which OpenRouter searches the web for each request. */
const searchSuffix = /:online(?=[:\s]|$)/gi;
/** Matches models that always search the web. */
const searchModels =
  /(?:^|\/)perplexity\/|(?:^|\/)sonar\b|(?:^|\/)compound\b|-search-(?:preview|api)\b|\bdeep-research\b/i;

/**
 * True if a model searches the web without a setting for this. A search sends texts to a service, and costs money. The
 * function judges the provider and the model that are sent, without the white space around them.
 *
 * @example searchesByItself('openrouter/openai/gpt-5.5:online'); // true
 */
export function searchesByItself(model: string): boolean {
  const split = splitModelName(model);
  const sent = split === undefined ? model.trim() : `${split.provider}/${split.model ?? ''}`;
  return sent.search(searchSuffix) !== -1 || searchModels.test(sent);
}

/** Returns the model without the part of its name that makes OpenRouter search the web. */
export function withoutSearch<Model extends Pick<ModelConfig, 'model'>>(config: Model): Model {
  const model = config.model.replace(searchSuffix, '');
  return model === config.model ? config : { ...config, model };
}
