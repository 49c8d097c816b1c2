import { nearestModels } from '../args/nearest-name.ts';
import type { Config } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import {
  type FoundServer,
  findLocalServers,
  type LocalServer,
  type LocalServerOptions,
  serverAddress,
} from './local-servers.ts';
import { firstSetVariable, type Vendor, vendors } from './vendors.ts';

/** A model that can be used now, with the name for `--model`. */
export interface KnownModel {
  readonly name: string;
  /** The source: `configured`, the name of a variable, the title of a server, or `built in`. */
  readonly from: string;
  readonly contextTokens?: number | undefined;
}

/**
 * Lists the models that can be used now, for `/model` and `doctor`. Vendors have more models than
 * these.
 */
export async function knownModels(
  env: Env,
  config: Pick<Config, 'models'>,
  look: Omit<LocalServerOptions, 'env'> = {},
): Promise<readonly KnownModel[]> {
  const found = await findLocalServers({ ...look, env });
  const local = found.flatMap(({ server, models }) =>
    models.map(({ id, contextTokens }) => ({
      name: `${server.name}/${id}`,
      from: server.title,
      ...(contextTokens !== undefined && { contextTokens }),
    })),
  );
  const configured = Object.keys(config.models).map((name) => ({ name, from: 'configured' }));
  return [...configured, ...vendorModels(env), ...local, { name: 'demo', from: 'built in' }];
}

function vendorModels(env: Env): readonly KnownModel[] {
  return vendors.flatMap(({ name, keyVariables, models }) => {
    const from = firstSetVariable(env, keyVariables)?.name;
    return from === undefined ? [] : models.map((model) => ({ name: `${name}/${model}`, from }));
  });
}

/** Creates the error for an unknown model, with similar names and how to get a key. */
export async function unknownModelError(
  name: string,
  options: LocalServerOptions & { readonly config: Pick<Config, 'models'> },
): Promise<ModelError> {
  const { env, config } = options;
  const known = await knownModels(env, config, options);
  const all = [...known.map((one) => one.name), ...vendors.flatMap(modelNames)];
  const near = nearestModels(name, all);
  const routed = name.includes('/') ? [`openrouter/${name}`] : [];
  const hints = near.length > 0 || routed.length > 0 ? [...near, ...routed] : ['demo'];
  const message = `Unknown model ${name}. Did you mean ${hints.join(' or ')}? ${keyAdvice(hints, env)}`;
  return new ModelError('unknown_model', name, message);
}

/** Explains how to use the first of these models if its key is missing. */
function keyAdvice(names: readonly string[], env: Env): string {
  const vendor = vendors.find((one) => names[0]?.startsWith(`${one.name}/`)) ?? vendors[0];
  const isReady = vendor === undefined || firstSetVariable(env, vendor.keyVariables) !== undefined;
  if (isReady) return 'Models are named provider/model';
  return `For models of ${vendor.name} set ${vendor.keyVariables[0]} (create a key at ${vendor.keyPage})`;
}

function modelNames({ name, models }: Vendor): readonly string[] {
  return models.map((model) => `${name}/${model}`);
}

export function noServerError(
  server: LocalServer,
  model: string | undefined,
  { env, ports }: LocalServerOptions,
): ModelError {
  const name = model === undefined ? server.name : `${server.name}/${model}`;
  const at = serverAddress(server, env, ports);
  const message = `Cannot use ${name}: ${server.title} does not answer at ${at}. Start it: ${server.start}`;
  return new ModelError('no_server', name, message);
}

export function notOnServerError(
  { server, models }: FoundServer,
  model: string | undefined,
): ModelError {
  const name = model === undefined ? server.name : `${server.name}/${model}`;
  const ids = models.map(({ id }) => id);
  const near = nearestModels(model ?? '', ids);
  const some = near.length > 0 ? near : ids.slice(0, 5);
  const has = some.length > 0 ? `It has ${some.join(', ')}` : 'It has no models';
  const pull = server.name === 'ollama' ? `. Download it: ollama pull ${model ?? 'qwen3'}` : '';
  const message = `Cannot use ${name}: ${server.title} does not have it. ${has}${pull}`;
  return new ModelError('unknown_model', name, message);
}
