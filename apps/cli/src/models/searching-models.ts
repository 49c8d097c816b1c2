import type { ModelConfig } from '../contract/config.ts';

/** Matches the part of a model's name with which OpenRouter searches the web for each request. */
const searchSuffix = /:online(?=:|\s*$)/gi;
/** Matches models that always search the web. */
const searchModels =
  /(?:^|\/)perplexity\/|(?:^|\/)sonar\b|(?:^|\/)compound(?:-|$)|-search-(?:preview|api)\b|\bdeep-research\b/i;

/**
 * True if a model searches the web without a setting for this. A search sends texts to a service, and costs money.
 *
 * @example searchesByItself('openrouter/openai/gpt-5.5:online'); // true
 */
export function searchesByItself(model: string): boolean {
  return model.search(searchSuffix) !== -1 || searchModels.test(model);
}

/** Returns the model without the part of its name that makes OpenRouter search the web. */
export function withoutSearch<Model extends Pick<ModelConfig, 'model'>>(config: Model): Model {
  const model = config.model.replace(searchSuffix, '');
  return model === config.model ? config : { ...config, model };
}
