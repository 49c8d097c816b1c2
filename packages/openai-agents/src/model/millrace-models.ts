import type { ModelProvider } from '@openai/agents';
import { MillraceModel, type MillraceModelOptions } from './millrace-model.ts';
import { type NamedProviders, providerNamed } from './provider-named.ts';

export interface MillraceModelsOptions extends MillraceModelOptions, NamedProviders {}

/**
 * Millrace's providers as the SDK's models: `new Runner({ modelProvider: millraceModels({ provider }) })`.
 * With `stream: runHooks(context)` what the models say also goes to a task as they say it.
 */
export function millraceModels(options: MillraceModelsOptions): ModelProvider {
  const { provider, providers, ...rest } = options;
  return {
    getModel: (name) => new MillraceModel(providerNamed({ provider, providers }, name), rest),
  };
}
