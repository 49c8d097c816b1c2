import { limitContext, type ModelTable } from '@millrace/providers';
import type { ChosenModel } from '../contract/agent.ts';
import type { Config, ModelConfig, ProviderName } from '../contract/config.ts';
import type { Origin } from '../contract/extensions.ts';
import type { Env } from '../contract/host.ts';
import { demoProvider } from '../demo/demo-provider.ts';
import { isLoginKey, isStoredKey } from './key-store.ts';
import {
  noServerError,
  notOnServerError,
  notUsedText,
  refusedError,
  searchesError,
  unknownModelError,
  unknownOwnerError,
  windowWarning,
} from './known-models.ts';
import {
  type FoundServer,
  findLocalServers,
  isConfigured,
  type ListedModel,
  type LocalServer,
  type LocalServerOptions,
  localServers,
  queryServer,
  readWindow,
} from './local-servers.ts';
import { splitModelName } from './model-name.ts';
import { loadModelTable } from './model-table.ts';
import { hostedSearch, openModel } from './open-model.ts';
import { searchesByItself, withoutSearch } from './searching-models.ts';
import { firstSetVariable, vendors } from './vendors.ts';

export interface ChooseOptions extends LocalServerOptions {
  readonly config: Pick<
    Config,
    'model' | 'projectModel' | 'models' | 'reasoning' | 'webSearch' | 'isProviderSearchOff'
  >;
  /** The folder that the demo model describes. */
  readonly cwd?: string | undefined;
  /** The table of models. Default: the user's own table, and then the built-in table. */
  readonly models?: ModelTable | undefined;
}

/**
 * Chooses the model. The order is: the configured model, a model whose key is set, a model of a
 * local server, the demo. Throws a `ModelError` if the requested model cannot be used.
 */
export async function chooseModel(given: ChooseOptions): Promise<ChosenModel> {
  const options = { ...given, models: given.models ?? (await loadModelTable(given.env)) };
  const name = options.config.model?.trim();
  if (name) return { ...(await byName(name, options)), name };
  return byKey(options) ?? byServer(options);
}

/**
 * Returns a function that opens the model of a sub-agent. A project can change the model of its sub-agents at any time
 * without a new question. Such a model can therefore do no more than the model of a project that is not trusted: it uses
 * no local server of an unknown owner, and does not search the web by itself, unless `models` contains its name.
 */
export function subAgentModels(
  options: ChooseOptions,
): (model: string, origin: Origin) => Promise<ChosenModel> {
  const { config } = options;
  return async (name, origin) => {
    const model = name.trim();
    const isOfProject = origin === 'project';
    if (isOfProject && !Object.hasOwn(config.models, model) && searchesByItself(model))
      throw searchesError(model);
    const projectModel = isOfProject ? model : undefined;
    return chooseModel({ ...options, config: { ...config, model, projectModel } });
  };
}

const demoReason =
  'Using the demo model, a script without a network, because no API key is set and no local model server';

/** Chooses a model whose key is set. A key of the environment has precedence over a key of the file. */
function byKey(options: ChooseOptions): ChosenModel | undefined {
  const { env } = options;
  const found = vendors.flatMap(({ name: provider, keyVariables, models: [model] }) => {
    const variable = firstSetVariable(env, keyVariables)?.name;
    if (variable === undefined || model === undefined) return [];
    return [{ provider, model, variable, isStored: isStoredKey(env, variable) }];
  });
  const first = found.find(({ isStored }) => !isStored) ?? found[0];
  if (first === undefined) return undefined;
  const { provider, model, variable, isStored } = first;
  const stored = isLoginKey(env, variable) ? 'because you logged in' : 'because its key is stored';
  const why = isStored ? stored : `because ${variable} is set`;
  return openConfigured({ provider, model }, why, options);
}

/**
 * Chooses a model of a local server, or the demo. A server whose owner is unknown is not used,
 * because each user of the machine can listen on its port.
 */
async function byServer(options: ChooseOptions): Promise<ChosenModel> {
  const found = await findLocalServers(options);
  const first = found.find(({ models, isOwn }) => isOwn && models.length > 0);
  const [model] = first?.models ?? [];
  if (first && model) {
    const chosen = await openServerModel(first, model, `because ${answerText(first)}`, options);
    return { ...chosen, isGuess: true };
  }
  // The user has a model server that refuses requests. The demo must not answer in its place
  // without a message.
  const refusing = found.find(({ refusal, isOwn }) => isOwn && refusal !== undefined);
  if (refusing?.refusal !== undefined)
    throw refusedError(refusing, refusing.refusal, { ...options, isAsked: false });
  const unused = found.filter(({ isOwn }) => !isOwn).map((one) => `Not used: ${notUsedText(one)}.`);
  const why = `${demoReason} ${unused.length === 0 ? 'answers' : 'can be used'}.`;
  return openDemo(options, [why, ...unused].join(' '));
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
      if (server !== undefined) return requestFromServer(server, named.model, name, options);
      const model = named.model ?? vendors.find((one) => one.name === provider)?.models[0];
      if (model === undefined) throw await unknownModelError(name, options);
      return openConfigured({ provider, model }, asked, options);
    }
    case 'bare': {
      const found = await findLocalServers(options);
      for (const one of found.filter(({ isOwn }) => isOwn)) {
        const model = findModel(name, one.models);
        if (model) return openServerModel(one, model, asked, options);
      }
      throw await unknownModelError(name, options);
    }
  }
}

/** The time to wait for a server that the user requested. Other servers get less time. */
const requestedTimeoutMs = 2000;

async function requestFromServer(
  server: LocalServer,
  name: string | undefined,
  asked: string,
  options: ChooseOptions,
): Promise<ChosenModel> {
  const found = await queryServer(server, { timeoutMs: requestedTimeoutMs, ...options });
  if (found === undefined) throw noServerError(server, name, options);
  const { refusal } = found;
  // The project is not the user, and each user of the machine can listen on the port.
  if (!found.isOwn && options.config.projectModel?.trim() === asked)
    throw unknownOwnerError(found, asked);
  if (refusal !== undefined)
    throw refusedError(found, refusal, { ...options, model: name, isAsked: true });
  const model = name === undefined ? found.models[0] : findModel(name, found.models);
  if (model === undefined) throw notOnServerError(found, name);
  return openServerModel(found, model, 'as requested', options);
}

/** Finds a model by its name. Ollama allows names without a tag: `qwen3` means `qwen3:latest`. */
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
  const { keyVariable } = server;
  const isKeyAllowed = keyVariable === undefined || isConfigured(server, options.env);
  const env = isKeyAllowed ? options.env : { ...options.env, [keyVariable]: undefined };
  const chosen = openConfigured(config, why, { ...options, env });
  const warning = contextTokens === undefined ? undefined : windowWarning(found, contextTokens);
  return warning === undefined ? chosen : { ...chosen, warning };
}

function openConfigured(given: ModelConfig, because: string, options: ChooseOptions): ChosenModel {
  const { config, env, fetch, clock, models } = options;
  const isSearchOff = config.webSearch === 'off' || config.isProviderSearchOff === true;
  const model = isSearchOff ? withoutSearch(given) : given;
  const label = `${model.provider}/${model.model}`;
  const reasoning = model.reasoning ?? config.reasoning;
  const { maxOutputTokens } = model;
  const searchesWeb = config.webSearch === 'hosted';
  const provider = openModel(model, { env, models, searchesWeb, transport: { fetch, clock } });
  const { contextTokens } = model;
  const tellsWindow = contextTokens !== undefined || provider.contextTokens !== undefined;
  // If the server does not report a context window, the size is only a guess from the name of the
  // model. In this case, no limit is set. For Ollama, no limit is needed here, because its provider
  // limits requests.
  const isLimited = tellsWindow && model.provider !== 'ollama';
  return {
    provider: isLimited ? limitContext(provider, { contextTokens }) : provider,
    label,
    why: `Using ${label}, ${because}.`,
    isDemo: false,
    ...(searchesWeb && !hostedSearch(model) && { warning: noSearchText(label) }),
    ...(model !== given && { warning: searchOffText(given.model, label) }),
    contextTokens: contextTokens ?? provider.info?.contextTokens,
    request: {
      ...(reasoning !== undefined && { reasoning }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    },
  };
}

function searchOffText(given: string, label: string): string {
  return `Using ${label} in place of ${given}, because web search is off, or a rule for web_search denies it or asks.`;
}

function noSearchText(label: string): string {
  const way = 'Set BRAVE_API_KEY, TAVILY_API_KEY or EXA_API_KEY, and leave --web-search out';
  return `${label} has no web search of its provider. ${way}.`;
}

function openDemo({ cwd, clock }: ChooseOptions, why: string): ChosenModel {
  return { provider: demoProvider({ cwd, clock }), label: 'demo', why, isDemo: true };
}

function answerText({ server, baseUrl }: FoundServer): string {
  return `${server.title} answers at ${baseUrl.replace(/\/v1$/, '')}`;
}

/** The meaning of a model name, if it is known without a request. */
type NamedModel =
  | { readonly kind: 'demo' }
  /** A model of the configuration. */
  | { readonly kind: 'configured'; readonly config: ModelConfig }
  /** A model of a vendor or of a local server. If `model` is undefined, the first model is used. */
  | { readonly kind: 'of'; readonly provider: ProviderName; readonly model?: string | undefined }
  | { readonly kind: 'bare' };

function parseModelName(
  name: string,
  models: Readonly<Record<string, ModelConfig>>,
  env: Env,
): NamedModel {
  const config = Object.hasOwn(models, name) ? models[name] : undefined;
  if (config !== undefined) return { kind: 'configured', config };
  if (name === 'demo') return { kind: 'demo' };
  const split = splitModelName(name);
  if (split !== undefined) return { kind: 'of', ...split };
  const owner = vendorOf(name, env);
  return owner === undefined ? { kind: 'bare' } : { kind: 'of', provider: owner, model: name };
}

/**
 * Returns the vendor of a model. If several vendors offer the model, a vendor whose key is set is
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
