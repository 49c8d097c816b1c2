import { type ModelConfig, type ProviderName, providerNames } from '../config/config.ts';
import { type Env, firstSet } from './env.ts';
import { vendors } from './vendors.ts';

/** What a name stands for, as far as it can be told without asking a server. */
export type NamedModel =
  | { readonly kind: 'demo' }
  /** Configured in full. */
  | { readonly kind: 'configured'; readonly config: ModelConfig }
  /** Of a vendor or a server, whose first one is meant where there is no name. */
  | { readonly kind: 'of'; readonly provider: ProviderName; readonly model?: string | undefined }
  | { readonly kind: 'bare' };

/** What people also call them. */
const otherNames: Readonly<Record<string, ProviderName>> = {
  google: 'gemini',
  lmstudio: 'lm-studio',
  llamacpp: 'llama.cpp',
};

export function namedModel(
  name: string,
  models: Readonly<Record<string, ModelConfig>>,
  env: Env,
): NamedModel {
  const config = Object.hasOwn(models, name) ? models[name] : undefined;
  if (config !== undefined) return { kind: 'configured', config };
  if (name === 'demo') return { kind: 'demo' };
  const slash = name.indexOf('/');
  const first = slash === -1 ? name : name.slice(0, slash);
  const provider = providerOf(first);
  const model = slash === -1 ? undefined : name.slice(slash + 1).trim() || undefined;
  if (provider !== undefined) return { kind: 'of', provider, model };
  const owner = ownerOf(name, env);
  return owner === undefined ? { kind: 'bare' } : { kind: 'of', provider: owner, model: name };
}

function providerOf(text: string): ProviderName | undefined {
  const name = text.toLowerCase();
  const known = Object.hasOwn(otherNames, name) ? otherNames[name] : undefined;
  return known ?? providerNames.find((one) => one === name);
}

/** Whose model has that name; of several, one whose key is there. */
function ownerOf(name: string, env: Env): ProviderName | undefined {
  const owners = vendors.filter(
    ({ models, ownNames }) => models.includes(name) || ownNames?.test(name),
  );
  const ready = owners.find(({ keyVariables }) => firstSet(env, keyVariables) !== undefined);
  return (ready ?? owners[0])?.name;
}
