import { type ProviderName, providerNames } from '../contract/config.ts';

/** Alternative names of providers. */
const providerAliases: Readonly<Record<string, ProviderName>> = {
  google: 'gemini',
  lmstudio: 'lm-studio',
  llamacpp: 'llama.cpp',
};

/** The provider that a name of a model starts with, and the model that the provider gets. */
interface ModelOfProvider {
  readonly provider: ProviderName;
  /** Undefined if the name is only that of a provider. */
  readonly model?: string | undefined;
}

/**
 * Splits a name such as `google/gemini-flash-latest`. Returns undefined if the name does not start with a provider. White
 * space around both parts is not sent, so it does not count.
 *
 * @example splitModelName('Google/gemini-flash-latest '); // { provider: 'gemini', model: 'gemini-flash-latest' }
 */
export function splitModelName(name: string): ModelOfProvider | undefined {
  const [, first = '', rest = ''] = /^([^/]*)(?:\/(.*))?$/s.exec(name) ?? [];
  const provider = providerOf(first.trim().toLowerCase());
  return provider && { provider, model: rest.trim() || undefined };
}

function providerOf(name: string): ProviderName | undefined {
  const known = Object.hasOwn(providerAliases, name) ? providerAliases[name] : undefined;
  return known ?? providerNames.find((one) => one === name);
}
