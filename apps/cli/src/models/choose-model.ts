import { limitContext, type ModelTable } from '@millrace/providers';
import type { ChosenModel } from '../contract/agent.ts';
import {
  type Config,
  type ModelConfig,
  type ProviderName,
  providerNames,
} from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { demoProvider } from '../demo/demo-provider.ts';
import {
  noServerError,
  notOnServerError,
  refusedError,
  unknownModelError,
  windowWarning,
} from './known-models.ts';
import {
  type FoundServer,
  findLocalServers,
  type ListedModel,
  type LocalServer,
  type LocalServerOptions,
  localServers,
  queryServer,
  readWindow,
} from './local-servers.ts';
import { loadModelTable } from './model-table.ts';
import { openModel } from './open-model.ts';
import { firstSetVariable, vendors } from './vendors.ts';

export interface ChooseOptions extends LocalServerOptions {
  readonly config: Pick<Config, 'model' | 'models' | 'reasoning'>;
  /** The folder for the demo model. */
  readonly cwd?: string | undefined;
  /** The table of models. Default: the user's own table, then the table of this program. */
  readonly models?: ModelTable | undefined;
}

/**
 * Chooses the model: the configured one, else one whose key is set, else one of a local server,
 * else the demo. Throws a `ModelError` if the requested model cannot be used.
 */
export async function chooseModel(given: ChooseOptions): Promise<ChosenModel> {
  const options = { ...given, models: given.models ?? (await loadModelTable(given.env)) };
  const name = options.config.model?.trim();
  if (name) return byName(name, options);
  return byKey(options) ?? (await byServer(options)) ?? openDemo(options, noModelReason);
}

const noModelReason =
  'Using the demo model, a script without a network, because no API key is set and no local model server answers.';

function byKey(options: ChooseOptions): ChosenModel | undefined {
  for (const { name: provider, keyVariables, models } of vendors) {
    const variable = firstSetVariable(options.env, keyVariables)?.name;
    const [model] = models;
    if (variable !== undefined && model !== undefined)
      return openConfigured({ provider, model }, `because ${variable} is set`, options);
  }
  return undefined;
}

async function byServer(options: ChooseOptions): Promise<ChosenModel | undefined> {
  const found = await findLocalServers(options);
  const first = found.find(({ models }) => models.length > 0);
  const [model] = first?.models ?? [];
  if (first && model) return openServerModel(first, model, `because ${answerText(first)}`, options);
  // The user has a model server, so the demo must not silently answer in its place.
  const refusing = found.find(({ refusal }) => refusal !== undefined);
  if (refusing?.refusal !== undefined)
    throw refusedError(refusing, refusing.refusal, { ...options, isAsked: false });
  return undefined;
}

async function byName(name: string, options: ChooseOptions): Promise<ChosenModel> {
  const asked = 'as requested';
  const named = parseModelName(name, options.config.models, options.env);
  switch (named.kind) {
    case 'demo':
      return openDemo(options, 'Using the demo model, a script without a network, as requested.');
    case 'configured':
      return openConfigured(named.config, `which is configured as ${name}`, options);
    case 'of': {
      const { provider } = named;
      const server = localServers.find((one) => one.name === provider);
      if (server !== undefined) return requestFromServer(server, named.model, options);
      const model = named.model ?? vendors.find((one) => one.name === provider)?.models[0];
      if (model === undefined) throw await unknownModelError(name, options);
      return openConfigured({ provider, model }, asked, options);
    }
    case 'bare': {
      const found = await findLocalServers(options);
      for (const one of found) {
        const model = findModel(name, one.models);
        if (model) return openServerModel(one, model, asked, options);
      }
      throw await unknownModelError(name, options);
    }
  }
}

/** How long to wait for a server that the user asked for. It is longer than for other servers. */
const requestedTimeoutMs = 2000;

async function requestFromServer(
  server: LocalServer,
  name: string | undefined,
  options: ChooseOptions,
): Promise<ChosenModel> {
  const found = await queryServer(server, { timeoutMs: requestedTimeoutMs, ...options });
  if (found === undefined) throw noServerError(server, name, options);
  const { refusal } = found;
  if (refusal !== undefined)
    throw refusedError(found, refusal, { ...options, model: name, isAsked: true });
  const model = name === undefined ? found.models[0] : findModel(name, found.models);
  if (model === undefined) throw notOnServerError(found, name);
  return openServerModel(found, model, 'as requested', options);
}

/**
 * Returns the model of a name. Ollama allows a name without a tag: `qwen3` means `qwen3:latest`.
 */
function findModel(name: string, models: readonly ListedModel[]): ListedModel | undefined {
  const wanted = name.toLowerCase();
  return models.find(({ id }) => [wanted, `${wanted}:latest`].includes(id.toLowerCase()));
}

async function openServerModel(
  found: FoundServer,
  model: ListedModel,
  why: string,
  options: ChooseOptions,
): Promise<ChosenModel> {
  const { server, baseUrl } = found;
  const contextTokens = await readWindow(found, model, options);
  const config = { provider: server.name, model: model.id, baseUrl, contextTokens };
  const chosen = openConfigured(config, why, options);
  const warning = contextTokens === undefined ? undefined : windowWarning(found, contextTokens);
  return warning === undefined ? chosen : { ...chosen, warning };
}

function openConfigured(model: ModelConfig, because: string, options: ChooseOptions): ChosenModel {
  const { config, env, fetch, clock, models } = options;
  const label = `${model.provider}/${model.model}`;
  const reasoning = model.reasoning ?? config.reasoning;
  const { maxOutputTokens } = model;
  const provider = openModel(model, { env, models, transport: { fetch, clock } });
  const { contextTokens } = model;
  const tellsWindow = contextTokens !== undefined || provider.contextTokens !== undefined;
  // If the server does not report a context window, the size is a guess from the model's name, so
  // no limit is set. For Ollama no limit is needed here, because its provider limits requests
  // itself.
  const isLimited = tellsWindow && model.provider !== 'ollama';
  return {
    provider: isLimited ? limitContext(provider, { contextTokens }) : provider,
    label,
    why: `Using ${label}, ${because}.`,
    isDemo: false,
    contextTokens: contextTokens ?? provider.info?.contextTokens,
    request: {
      ...(reasoning !== undefined && { reasoning }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    },
  };
}

function openDemo({ cwd, clock }: ChooseOptions, why: string): ChosenModel {
  return { provider: demoProvider({ cwd, clock }), label: 'demo', why, isDemo: true };
}

function answerText({ server, baseUrl }: FoundServer): string {
  return `${server.title} answers at ${baseUrl.replace(/\/v1$/, '')}`;
}

/** The meaning of a model name, as far as it is known without a request. */
type NamedModel =
  | { readonly kind: 'demo' }
  /** A model of the configuration. */
  | { readonly kind: 'configured'; readonly config: ModelConfig }
  /** A model of a vendor or a local server. If `model` is undefined, it is the first model. */
  | { readonly kind: 'of'; readonly provider: ProviderName; readonly model?: string | undefined }
  | { readonly kind: 'bare' };

/** Alternative names of providers. */
const providerAliases: Readonly<Record<string, ProviderName>> = {
  google: 'gemini',
  lmstudio: 'lm-studio',
  llamacpp: 'llama.cpp',
};

function parseModelName(
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
  const owner = vendorOf(name, env);
  return owner === undefined ? { kind: 'bare' } : { kind: 'of', provider: owner, model: name };
}

function providerOf(text: string): ProviderName | undefined {
  const name = text.toLowerCase();
  const known = Object.hasOwn(providerAliases, name) ? providerAliases[name] : undefined;
  return known ?? providerNames.find((one) => one === name);
}

/**
 * Returns the vendor of a model name. If several vendors have the model, one with a key is
 * preferred.
 */
function vendorOf(name: string, env: Env): ProviderName | undefined {
  const owners = vendors.filter(
    ({ models, namePattern }) => models.includes(name) || namePattern?.test(name),
  );
  const ready = owners.find(
    ({ keyVariables }) => firstSetVariable(env, keyVariables) !== undefined,
  );
  return (ready ?? owners[0])?.name;
}
