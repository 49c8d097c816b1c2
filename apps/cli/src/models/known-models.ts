import type { ModelInfo } from '@millrace/providers';
import type { ModelTable } from '@millrace/providers/models';
import { nearestModels } from '../args/nearest-name.ts';
import type { Config } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import {
  type FoundServer,
  findLocalServers,
  isConfigured,
  type LocalName,
  type LocalServer,
  type LocalServerOptions,
  type Refusal,
  serverAddress,
  serverKey,
} from './local-servers.ts';
import { firstSetVariable, type Vendor, vendors } from './vendors.ts';

/** A model that can be used now. `name` is its name for `--model`. */
export interface KnownModel {
  readonly name: string;
  /**
   * The source of the model: `configured`, the name of a variable, the title of a server, or `built
   * in`.
   */
  readonly from: string;
  readonly contextTokens?: number | undefined;
}

/**
 * Lists models that can be used now, for `/model` and `doctor`. Vendors also offer models that are
 * not in this list.
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

/** Returns the limits and prices of a model. The configuration has priority over the table of models. */
export function modelFacts(
  { name, contextTokens }: KnownModel,
  config: Pick<Config, 'models'>,
  table: ModelTable,
): ModelInfo {
  const configured = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
  const slash = name.indexOf('/');
  const provider = configured?.provider ?? name.slice(0, Math.max(slash, 0));
  const model = configured?.model ?? name.slice(slash + 1);
  const host = configured?.baseUrl === undefined ? undefined : URL.parse(configured.baseUrl)?.host;
  const server = configured?.baseUrl === undefined ? '' : `@${host ?? ''}`;
  return {
    ...table.find(`${provider}${server}`, model),
    ...(contextTokens !== undefined && { contextTokens }),
    ...configured?.info,
  };
}

function vendorModels(env: Env): readonly KnownModel[] {
  return vendors.flatMap(({ name, keyVariables, models }) => {
    const from = firstSetVariable(env, keyVariables)?.name;
    return from === undefined ? [] : models.map((model) => ({ name: `${name}/${model}`, from }));
  });
}

/**
 * Creates the error for an unknown model. Its message contains similar names, and tells how to get
 * a key.
 */
export async function unknownModelError(
  name: string,
  options: LocalServerOptions & { readonly config: Pick<Config, 'models'> },
): Promise<ModelError> {
  const { env, config } = options;
  const vendor = vendors.find((one) => name === one.name || name === `${one.name}/`);
  if (vendor !== undefined) return onlyProviderError(name, vendor);
  const known = await knownModels(env, config, options);
  const all = [...known.map((one) => one.name), ...vendors.flatMap(modelNames)];
  const near = nearestModels(name, all);
  const routed = name.includes('/') ? [`openrouter/${name}`] : [];
  const hints = [...near, ...routed];
  const way =
    hints.length > 0
      ? `Did you mean ${hints.join(' or ')}? ${keyAdvice(hints, env)}`
      : `Use provider/model, such as ${exampleOf(vendors[0])}, or demo. millrace models lists the models that can be used now`;
  return new ModelError('unknown_model', name, `Unknown model ${name}. ${way}`);
}

/** Creates the error for a provider name without a model name. */
function onlyProviderError(name: string, vendor: Vendor): ModelError {
  const message = `Unknown model ${name}. ${vendor.name} is a provider; add the model: ${exampleOf(vendor)}`;
  return new ModelError('unknown_model', name, message);
}

function exampleOf(vendor: Vendor | undefined): string {
  return `${vendor?.name}/${vendor?.models[0] ?? '<model>'}`;
}

/**
 * Returns a sentence that tells how to set the key for the first of these models. If the key is
 * already set, the sentence explains model names.
 */
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

/** Creates the error for a server that runs but refuses to answer. */
export function refusedError(
  { server, baseUrl }: FoundServer,
  refusal: Refusal,
  { model, isAsked, env }: { model?: string | undefined; isAsked: boolean; env: Env },
): ModelError {
  const name = model === undefined ? server.name : `${server.name}/${model}`;
  const { title, keyVariable } = server;
  const other = isAsked ? '' : ', or use --model demo';
  if (refusal === 'loading') {
    const message = `Cannot use ${name}: ${title} at ${baseUrl} is loading a model. Try again when it is ready${other}`;
    return new ModelError('server_loading', name, message);
  }
  if (refusal === 'owner') {
    const message = `Cannot use ${name}: ${notUsedText({ server, baseUrl, refusal })}`;
    return new ModelError('foreign_server', name, message);
  }
  const hasKey = serverKey(server, env) !== undefined;
  const what = hasKey ? `rejects the key in ${keyVariable}` : 'needs an API key';
  const way = keyVariable === undefined ? configAdvice : keyAdviceOf(server, baseUrl, env);
  const message = `Cannot use ${name}: ${title} at ${baseUrl} ${what}. ${way}${other}`;
  return new ModelError('no_key', name, message);
}

/** Creates the error for a model of a server that the project names, and that belongs to nobody known. */
export function unknownOwnerError(found: FoundServer, name: string): ModelError {
  const message = `Cannot use ${name}, which the project chooses: ${notUsedText(found)}`;
  return new ModelError('foreign_server', name, message);
}

/** The error about a sub-agent of a project with a model that searches the web. */
export function searchesError(name: string): ModelError {
  const way = `Add it under "models" in your own config.json, and write its key in the sub-agent`;
  const message = `It searches the web, and a sub-agent of a project cannot choose this. ${way}`;
  return new ModelError('searches_web', name, message);
}

const configAdvice = 'Add the model with its "apiKey" under "models" in millrace.json';

/** Returns the variables to set. A key is sent only to a configured address. */
function keyAdviceOf(server: LocalServer, baseUrl: string, env: Env): string {
  const { keyVariable = '', addressVariable } = server;
  if (isConfigured(server, env)) return `Set ${keyVariable}`;
  const address = `${addressVariable}=${baseUrl}`;
  if (firstSetVariable(env, [keyVariable]) === undefined)
    return `Set ${keyVariable} and ${address}`;
  return `Millrace sends ${keyVariable} only to an address that you set. Set ${address}`;
}

/** Returns the reason why a server is not used, and how to use it. */
export function notUsedText({
  server,
  baseUrl,
  refusal,
}: Pick<FoundServer, 'server' | 'baseUrl' | 'refusal'>): string {
  const { name, title, addressVariable } = server;
  const set = `set ${addressVariable}=${baseUrl}`;
  if (refusal === 'owner')
    return `the server at ${baseUrl}, the port of ${title}, belongs to a different user of this machine. If you trust it, ${set}`;
  return `${title} answers at ${baseUrl}, but its owner is unknown. If it is yours, use --model ${name}, or ${set}`;
}

/**
 * A context window with fewer tokens is too small. Instructions, tools and a few files need more.
 */
const smallWindow = 16_000;

/**
 * Returns a sentence for the user if the context window is too small for this agent. Returns
 * undefined if it is large enough.
 */
export function windowWarning({ server }: FoundServer, contextTokens: number): string | undefined {
  if (contextTokens >= smallWindow) return undefined;
  const way = windowAdvice[server.name];
  return `${server.title} runs this model with a context of ${contextTokens} tokens, which is small for coding: messages are summarized early. ${way}`;
}

const windowAdvice: Readonly<Record<LocalName, string>> = {
  ollama:
    'For more, start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in a Modelfile. A request cannot set it',
  'lm-studio': 'For more, load the model with a larger context length',
  'llama.cpp': 'For more, start it with -c 32768. Each of its parallel slots gets a part of that',
  vllm: 'For more, start it with --max-model-len 32768',
  litellm: 'For more, use a model with a larger context',
};

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
