import type { Config } from '../config/config.ts';
import { type Env, firstSet } from './env.ts';
import type { FoundServer, LookOptions } from './find-local-servers.ts';
import { knownModels } from './known-models.ts';
import { addressOf, type LocalServer } from './local-servers.ts';
import { ModelError } from './model-error.ts';
import { nearestNames } from './nearest-names.ts';
import { type Vendor, vendors } from './vendors.ts';

/** Nobody is known to have it: says what is like it, and how to get at real ones. */
export async function unknownModel(
  name: string,
  options: LookOptions & { readonly config: Pick<Config, 'models'> },
): Promise<ModelError> {
  const { env, config } = options;
  const known = await knownModels(env, config, options);
  const all = [...known.map((one) => one.name), ...vendors.flatMap(namesOf)];
  const near = nearestNames(name, all);
  const routed = name.includes('/') ? [`openrouter/${name}`] : [];
  const hints = near.length > 0 || routed.length > 0 ? [...near, ...routed] : ['demo'];
  const message = `Cannot find a model ${name}. Did you mean ${hints.join(' or ')}? ${wayTo(hints, env)}`;
  return new ModelError('unknown_model', name, message);
}

/** How the first of these can be used, where its key is missing. */
function wayTo(names: readonly string[], env: Env): string {
  const vendor = vendors.find((one) => names[0]?.startsWith(`${one.name}/`)) ?? vendors[0];
  const isReady = vendor === undefined || firstSet(env, vendor.keyVariables) !== undefined;
  if (isReady) return 'Models are named provider/model';
  return `For models of ${vendor.name} set ${vendor.keyVariables[0]} (there are keys at ${vendor.keyPage})`;
}

function namesOf({ name, models }: Vendor): readonly string[] {
  return models.map((model) => `${name}/${model}`);
}

export function noServer(
  server: LocalServer,
  model: string | undefined,
  { env, ports }: LookOptions,
): ModelError {
  const name = model === undefined ? server.name : `${server.name}/${model}`;
  const at = addressOf(server, env, ports);
  const message = `Cannot use ${name}: ${server.title} does not answer at ${at}. Start it: ${server.start}`;
  return new ModelError('no_server', name, message);
}

export function notOnServer(
  { server, models }: FoundServer,
  model: string | undefined,
): ModelError {
  const name = model === undefined ? server.name : `${server.name}/${model}`;
  const ids = models.map(({ id }) => id);
  const near = nearestNames(model ?? '', ids);
  const some = near.length > 0 ? near : ids.slice(0, 5);
  const has = some.length > 0 ? `It has ${some.join(', ')}` : 'It has none';
  const pull = server.name === 'ollama' ? `. Fetch it: ollama pull ${model ?? 'qwen3'}` : '';
  const message = `Cannot use ${name}: ${server.title} does not have it. ${has}${pull}`;
  return new ModelError('unknown_model', name, message);
}
