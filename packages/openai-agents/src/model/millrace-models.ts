import type { Provider } from '@millrace/providers';
import { type Model, type ModelProvider, UserError } from '@openai/agents';
import { MillraceModel, type MillraceModelOptions } from './millrace-model.ts';

export interface MillraceModelsOptions extends MillraceModelOptions {
  /** For agents that name no model, or this one's. */
  readonly provider?: Provider | undefined;
  /** By the names that agents call them. */
  readonly providers?: Readonly<Record<string, Provider>> | undefined;
}

/**
 * Millrace's providers as the SDK's models: `new Runner({ modelProvider: millraceModels({ provider }) })`.
 * With `stream: runHooks(context)` what the models say also goes to a task as they say it.
 */
export function millraceModels(options: MillraceModelsOptions): ModelProvider {
  const { provider, providers = {}, ...rest } = options;
  const find = (name: string | undefined): Provider | undefined => {
    if (!name || name === provider?.model) return provider;
    return Object.hasOwn(providers, name) ? providers[name] : undefined;
  };
  return {
    getModel(name?: string): Model {
      const found = find(name);
      if (found === undefined) throw unknownModel(name, options);
      return new MillraceModel(found, rest);
    },
  };
}

function unknownModel(
  name: string | undefined,
  { provider, providers = {} }: MillraceModelsOptions,
): UserError {
  const known = [...(provider ? [provider.model] : []), ...Object.keys(providers)];
  const asked = name ? `There is no model “${name}”` : 'The agent names no model';
  const way = name ? 'Add it to `providers`' : 'Give one as `provider`, or the agent a `model`';
  return new UserError(`${asked}. There are: ${known.join(', ') || 'none'}. ${way}`);
}
