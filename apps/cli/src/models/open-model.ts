import {
  type AwsCredentials,
  anthropic,
  anthropicBedrock,
  type ChatPreset,
  gemini,
  type ModelTable,
  openaiChat,
  openaiResponses,
  type Provider,
  type ResponsesPreset,
  type TransportOptions,
} from '@millrace/providers';
import type { ModelConfig, ProviderName } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { isConfigured, localServers, serverAddress } from './local-servers.ts';
import { firstSetVariable, vendors } from './vendors.ts';

interface OpenOptions {
  readonly env: Env;
  /** The table of models. Default: the limits and features of known models, without prices. */
  readonly models?: ModelTable | undefined;
  /** True if the provider of the model searches the web. Default: false. */
  readonly searchesWeb?: boolean | undefined;
  readonly transport?: Pick<TransportOptions, 'fetch' | 'clock'> | undefined;
}

/**
 * Creates the provider for a model. It sends no request. Throws if a key or an address is missing.
 */
export function openModel(
  config: ModelConfig,
  { env, models, searchesWeb = false, transport = {} }: OpenOptions,
): Provider {
  const { provider, model, headers, secrets } = config;
  const baseUrl = config.baseUrl ?? addressFromEnv(provider, env);
  const { contextTokens, maxOutputTokens } = config;
  const info = { contextTokens, maxOutputTokens, ...config.info };
  const credentials = provider === 'bedrock' ? awsCredentials(config, env) : undefined;
  const apiKey = credentials === undefined ? requireKey(config, env) : undefined;
  const { fetch = transport.fetch } = config;
  const options = { ...transport, fetch, model, headers, secrets, baseUrl, apiKey, models, info };
  const search = (searchesWeb && hostedSearch(config, baseUrl)) || undefined;
  switch (provider) {
    case 'anthropic':
      return anthropic({ ...options, extraTools: search && [anthropicSearch] });
    case 'gemini':
      return gemini({ ...options, extraTools: search && [{ googleSearch: {} }] });
    case 'bedrock':
      return anthropicBedrock({ ...options, region: requireRegion(config, env), credentials });
    default:
      return usesResponsesApi(config, baseUrl)
        ? openaiResponses({
            ...options,
            preset: responsesPreset(config, baseUrl),
            extraTools: search && [{ type: responsesSearch(provider) }],
          })
        : openaiChat({
            ...options,
            preset: chatPreset(config, baseUrl),
            dialect: dialectOf(config),
            extraTools: search && [{ type: 'openrouter:web_search' }],
          });
  }
}

const anthropicSearch = { type: 'web_search_20250305', name: 'web_search' } as const;

function responsesSearch(provider: ProviderName): 'web_search' | 'openrouter:web_search' {
  return provider === 'openrouter' ? 'openrouter:web_search' : 'web_search';
}

/** Returns true if the provider of a model can search the web itself. */
export function hostedSearch(
  config: ModelConfig,
  baseUrl: string | undefined = config.baseUrl,
): boolean {
  switch (config.provider) {
    case 'anthropic':
    case 'openrouter':
      return true;
    case 'gemini':
      // Older models accept no search beside the tools of the agent.
      return !/^(?:models\/)?gemini-[12]/.test(config.model);
    case 'openai':
    case 'azure':
    case 'xai':
      return usesResponsesApi(config, baseUrl);
    default:
      return false;
  }
}

/**
 * Returns the differences from the preset. For a local server, the provider must not read a key from
 * the environment, because `findKey` decides whether its address may get the key.
 */
function dialectOf({ provider }: ModelConfig): { readonly keyVariables: [] } | undefined {
  return localServers.some(({ name }) => name === provider) ? { keyVariables: [] } : undefined;
}

/**
 * Returns true if requests must use the Responses API. OpenAI offers it. Servers at a custom
 * address usually offer only the older Chat API.
 */
function usesResponsesApi({ provider, api }: ModelConfig, baseUrl: string | undefined): boolean {
  return api === undefined ? provider === 'openai' && baseUrl === undefined : api === 'responses';
}

type CompatibleProvider = Exclude<ProviderName, 'anthropic' | 'gemini' | 'bedrock'>;

function chatPreset(config: ModelConfig, baseUrl: string | undefined): ChatPreset {
  const preset = config.provider as CompatibleProvider;
  const needsAddress = preset === 'compatible' || preset === 'azure';
  if (needsAddress && baseUrl === undefined) throw noAddressError(config);
  return preset;
}

const responsesPresets: Readonly<Partial<Record<ProviderName, ResponsesPreset>>> = {
  openai: 'openai',
  azure: 'azure',
  openrouter: 'openrouter',
  xai: 'xai',
  'lm-studio': 'lm-studio',
};

function responsesPreset(config: ModelConfig, baseUrl: string | undefined): ResponsesPreset {
  const preset = responsesPresets[config.provider];
  if (baseUrl === undefined && (preset === undefined || preset === 'azure'))
    throw noAddressError(config);
  return preset ?? 'compatible';
}

function addressFromEnv(provider: ProviderName, env: Env): string | undefined {
  const server = localServers.find(({ name }) => name === provider);
  if (server !== undefined)
    return isConfigured(server, env) ? serverAddress(server, env) : undefined;
  const variable = vendors.find(({ name }) => name === provider)?.addressVariable;
  return variable === undefined ? undefined : firstSetVariable(env, [variable])?.value;
}

/**
 * Returns the configured key. Without one, returns the key in the provider's usual variable. A local
 * server gets the key of the variable only at a configured address, because any program can listen
 * on a default port.
 */
export function findKey({ provider, apiKey, baseUrl }: ModelConfig, env: Env): string | undefined {
  if (apiKey) return apiKey;
  const vendor = vendors.find(({ name }) => name === provider);
  const server = localServers.find(({ name }) => name === provider);
  const isLocalAllowed = server && (baseUrl !== undefined || isConfigured(server, env));
  const local = isLocalAllowed ? server.keyVariable : undefined;
  const variables = vendor?.keyVariables ?? (local === undefined ? [] : [local]);
  return firstSetVariable(env, variables)?.value;
}

/**
 * Returns the AWS credentials in the environment. Returns undefined if there is an API key for
 * Bedrock.
 */
function awsCredentials(config: ModelConfig, env: Env): AwsCredentials | undefined {
  if (findKey(config, env) !== undefined) return undefined;
  const [accessKeyId, secretAccessKey, sessionToken] = [
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
  ].map((name) => firstSetVariable(env, [name])?.value);
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken };
}

function requireRegion(config: ModelConfig, env: Env): string {
  const region = firstSetVariable(env, ['AWS_REGION', 'AWS_DEFAULT_REGION'])?.value;
  if (region !== undefined) return region;
  const name = `${config.provider}/${config.model}`;
  const way = 'Set AWS_REGION, for example to us-east-1';
  throw new ModelError('no_address', name, `Cannot use ${name}: its region is unknown. ${way}`);
}

/**
 * Returns the key. Throws if it is missing. If custom headers are set, the key is optional, because
 * a header may contain it.
 */
function requireKey(config: ModelConfig, env: Env): string | undefined {
  const { provider, headers } = config;
  const vendor = vendors.find(({ name }) => name === provider);
  const key = findKey(config, env);
  if (key === undefined && vendor !== undefined && headers === undefined) throw noKeyError(config);
  return key;
}

function noKeyError({ provider, model }: ModelConfig): ModelError {
  const vendor = vendors.find(({ name }) => name === provider);
  const variables = vendor?.keyVariables.join(' or ');
  const name = `${provider}/${model}`;
  const others = provider === 'bedrock' ? ' or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY' : '';
  const way = `Set ${variables} (create a key at ${vendor?.keyPage})${others}, or use --model demo`;
  return new ModelError('no_key', name, `Cannot use ${name}: no API key is set. ${way}`);
}

function noAddressError({ provider, model }: ModelConfig): ModelError {
  const name = `${provider}/${model}`;
  const variable = vendors.find((vendor) => vendor.name === provider)?.addressVariable;
  const either = variable === undefined ? 'Add' : `Set ${variable}, or add`;
  const way = `${either} it with a "baseUrl" under "models" in millrace.json, and use its name`;
  return new ModelError('no_address', name, `Cannot use ${name}: its address is unknown. ${way}`);
}
