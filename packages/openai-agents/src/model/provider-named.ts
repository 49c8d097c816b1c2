import type { Provider } from '@millrace/providers';
import { UserError } from '@openai/agents';

export interface NamedProviders {
  /** For agents that name no model, or this one's. */
  readonly provider?: Provider | undefined;
  /** By the names that agents call them. */
  readonly providers?: Readonly<Record<string, Provider>> | undefined;
}

/** The provider that an agent means. */
export function providerNamed(
  { provider, providers = {} }: NamedProviders,
  name: string | undefined,
): Provider {
  const isOwn = !name || name === provider?.model;
  const named = !isOwn && Object.hasOwn(providers, name) ? providers[name] : undefined;
  const found = isOwn ? provider : named;
  if (found === undefined) throw unknownModel(name, { provider, providers });
  return found;
}

function unknownModel(
  name: string | undefined,
  { provider, providers = {} }: NamedProviders,
): UserError {
  const known = [...(provider ? [provider.model] : []), ...Object.keys(providers)];
  const asked = name ? `There is no model “${name}”` : 'The agent names no model';
  const way = name ? 'Add it to `providers`' : 'Give one as `provider`, or the agent a `model`';
  return new UserError(`${asked}. There are: ${known.join(', ') || 'none'}. ${way}`);
}
