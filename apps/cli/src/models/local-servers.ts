import { connect } from 'node:net';
import { isJsonObject, type JsonValue, parseJson } from '@millrace/core';
import {
  type Clock,
  listedContextTokens,
  readContextWindow,
  systemClock,
} from '@millrace/providers';
import type { ProviderName } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { findListenerOwner, type ListenerSources } from './listener-owner.ts';
import { firstSetVariable } from './vendors.ts';

/** Options for the search for local model servers. */
export interface LocalServerOptions {
  readonly env: Env;
  readonly ports?: Ports | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly timeoutMs?: number | undefined;
  /** The source that tells which account listens on a port. Default: the system. */
  readonly listeners?: ListenerSources | undefined;
}

/** A server that answered, and its chat models. */
export interface FoundServer {
  readonly server: LocalServer;
  readonly baseUrl: string;
  /** The chat models of the server. Empty if the server refused the request. */
  readonly models: readonly ListedModel[];
  /** The reason why the server cannot be used now. */
  readonly refusal?: Refusal | undefined;
  /**
   * True if the address is configured, or if the server belongs to this user or to the system. Only
   * such a server is used without a request by the user.
   */
  readonly isOwn: boolean;
}

/**
 * The reason why a running server cannot be used now. `key`: the key is missing or wrong. `loading`:
 * the model is not loaded yet. `owner`: the server belongs to a different user of this machine.
 */
export type Refusal = 'key' | 'loading' | 'owner';

/**
 * Queries all known servers in parallel. Returns the servers that answer, in order of preference.
 */
export async function findLocalServers(
  options: LocalServerOptions,
): Promise<readonly FoundServer[]> {
  const found = await Promise.all(localServers.map((server) => queryServer(server, options)));
  return found.filter((one) => one !== undefined);
}

/**
 * Queries one server. If its address is not configured, the server gets no key. From a server of a
 * different user, no model is used.
 */
export async function queryServer(
  server: LocalServer,
  options: LocalServerOptions,
): Promise<FoundServer | undefined> {
  const { env, ports, listeners, ...rest } = options;
  const baseUrl = serverAddress(server, env, ports);
  const asked = { ...rest, apiKey: serverKey(server, env) };
  if (!(await isThere(baseUrl, asked))) return undefined;
  const answer = await askForModels(baseUrl, '/models', asked);
  if (answer === undefined) return undefined;
  const owner =
    isConfigured(server, env) || rest.fetch !== undefined
      ? 'trusted'
      : await findListenerOwner(Number(new URL(baseUrl).port), server.account, listeners);
  const found = { server, baseUrl, models: [], isOwn: owner === 'trusted' };
  if (owner === 'foreign') return { ...found, refusal: 'owner' };
  if ('refusal' in answer) return { ...found, refusal: answer.refusal };
  // llama.cpp lists its models without a key, but other requests need the key.
  const root = baseUrl.replace(/\/v1$/, '');
  const props = server.name === 'llama.cpp' ? await askForModels(root, '/props', asked) : undefined;
  if (props !== undefined && 'refusal' in props) return { ...found, refusal: props.refusal };
  return { ...found, models: answer.models.filter(({ id }) => isChatModel(id)) };
}

/**
 * Returns the key of a server from its environment variable. A key is only for an address that the
 * user configured, because any program can listen on a default port.
 */
export function serverKey(server: LocalServer, env: Env): string | undefined {
  const { keyVariable } = server;
  if (keyVariable === undefined || !isConfigured(server, env)) return undefined;
  return firstSetVariable(env, [keyVariable])?.value;
}

/** Returns true if an environment variable contains the address of the server. */
export function isConfigured({ addressVariable }: LocalServer, env: Env): boolean {
  return firstSetVariable(env, [addressVariable]) !== undefined;
}

/**
 * Reads the context window that the server uses for a model. The model lists of Ollama and LM
 * Studio do not contain it.
 */
export async function readWindow(
  { server, baseUrl }: FoundServer,
  { id, contextTokens }: ListedModel,
  { env, ports: _ports, listeners: _listeners, ...rest }: LocalServerOptions,
): Promise<number | undefined> {
  if (contextTokens !== undefined || server.name === 'litellm') return contextTokens;
  const asked = { ...rest, apiKey: serverKey(server, env), timeoutMs: rest.timeoutMs ?? 1000 };
  return readContextWindow({ ...asked, server: server.name, baseUrl, model: id });
}

/** Returns true if a model can chat. Servers also list models for embeddings and for audio. */
function isChatModel(id: string): boolean {
  return !/embed|rerank|whisper|(?:^|[-_/])(?:bge|tts)(?:[-_]|$)/i.test(id);
}

/** A model server that runs on the user's machine. */
export interface LocalServer {
  readonly name: LocalName;
  /** The name that messages show. */
  readonly title: string;
  readonly port: number;
  /** The environment variable with the address. */
  readonly addressVariable: string;
  /** The environment variable with the key. Undefined if the server needs no key. */
  readonly keyVariable?: string | undefined;
  /** The system account under which the server runs if it is installed as a service. */
  readonly account?: string | undefined;
  /** The command that starts the server. */
  readonly start: string;
}

export type LocalName = Extract<
  ProviderName,
  'ollama' | 'lm-studio' | 'llama.cpp' | 'vllm' | 'litellm'
>;

/** The local servers, in order of preference. */
export const localServers: readonly LocalServer[] = [
  {
    ...{ name: 'ollama', title: 'Ollama', port: 11434, start: 'ollama serve' },
    ...{ addressVariable: 'OLLAMA_HOST', account: 'ollama' },
  },
  {
    ...{ name: 'lm-studio', title: 'LM Studio', port: 1234, start: 'lms server start' },
    addressVariable: 'LM_STUDIO_BASE_URL',
  },
  {
    name: 'llama.cpp',
    title: 'llama.cpp',
    port: 8080,
    addressVariable: 'LLAMA_BASE_URL',
    keyVariable: 'LLAMA_API_KEY',
    start: 'llama-server -m model.gguf',
  },
  {
    name: 'vllm',
    title: 'vLLM',
    port: 8000,
    addressVariable: 'VLLM_BASE_URL',
    keyVariable: 'VLLM_API_KEY',
    start: 'vllm serve <model>',
  },
  {
    name: 'litellm',
    title: 'LiteLLM',
    port: 4000,
    addressVariable: 'LITELLM_BASE_URL',
    keyVariable: 'LITELLM_API_KEY',
    start: 'litellm --config config.yaml',
  },
];

/** Ports that tests use in place of the default ports. */
export type Ports = Readonly<Partial<Record<LocalName, number>>>;

/** Returns the address of a server. The environment variable of the server overrides the default. */
export function serverAddress(server: LocalServer, env: Env, ports: Ports = {}): string {
  const { name, port, addressVariable } = server;
  const value = firstSetVariable(env, [addressVariable])?.value;
  if (value === undefined || (name === 'ollama' && ports.ollama !== undefined))
    return `http://127.0.0.1:${ports[name] ?? port}/v1`;
  if (name === 'ollama') return ollamaAddress(value, port);
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalidAddressError(server);
  return url.pathname === '/' ? `${url.origin}/v1` : value.replace(/(?<!\/)\/+$/, '');
}

function invalidAddressError({ name, port, addressVariable }: LocalServer): ModelError {
  const way = `Set it to a URL such as http://127.0.0.1:${port}/v1`;
  const message = `Cannot use ${name}: the address in ${addressVariable} is not a URL. ${way}`;
  return new ModelError('no_address', name, message);
}

/**
 * Returns the address for a value of OLLAMA_HOST. The value may be a host, a port, both, or a URL.
 * The host 0.0.0.0 is replaced: a server can listen on it, but a client cannot connect to it.
 */
function ollamaAddress(host: string, port: number): string {
  const url = URL.parse(
    /^https?:\/\//.test(host) ? host : `http://${host.replace(/^:/, '127.0.0.1:')}`,
  );
  if (url === null) return `http://127.0.0.1:${port}/v1`;
  const name = url.hostname === '0.0.0.0' ? '127.0.0.1' : url.hostname;
  const isPlain = url.protocol === 'http:';
  return `${url.protocol}//${name}:${url.port || (isPlain ? port : 443)}/v1`;
}

/** A model that a server offers. */
export interface ListedModel {
  readonly id: string;
  readonly contextTokens?: number | undefined;
}

export interface ListOptions {
  readonly apiKey?: string | undefined;
  /**
   * The time to wait for an answer. It is short, because the user waits for the prompt. Default:
   * 400 ms.
   */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const defaultTimeoutMs = 400;
const maxListLength = 4_000_000;
const maxModels = 1000;

/**
 * Lists the models of a server with OpenAI's API. Returns undefined if no program listens, if a
 * different kind of program uses the port, or after the timeout.
 */
export async function listModels(
  baseUrl: string,
  options: ListOptions = {},
): Promise<readonly ListedModel[] | undefined> {
  if (!(await isThere(baseUrl, options))) return undefined;
  const answer = await askForModels(baseUrl, '/models', options);
  return answer !== undefined && 'models' in answer ? answer.models : undefined;
}

/**
 * Returns true if a program listens at the address. With a custom `fetch`, for example in tests, the port is
 * not checked.
 */
async function isThere(baseUrl: string, options: ListOptions): Promise<boolean> {
  const { timeoutMs = defaultTimeoutMs, clock = systemClock, fetch } = options;
  return fetch !== undefined || isListening(baseUrl, { clock, timeoutMs });
}

type ServerAnswer = { readonly models: readonly ListedModel[] } | { readonly refusal: Refusal };

async function askForModels(
  baseUrl: string,
  path: '/models' | '/props',
  options: ListOptions,
): Promise<ServerAnswer | undefined> {
  const { apiKey, timeoutMs = defaultTimeoutMs, clock = systemClock } = options;
  const { fetch = globalThis.fetch } = options;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    const response = await fetch(`${baseUrl}${path}`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      redirect: 'error',
      signal: late.signal,
    });
    const body = await readBody(response);
    if (!response.ok) return parseRefusal(response.status, body);
    const models = parseModels(body);
    return models && { models };
  } catch {
    return undefined;
  } finally {
    cancel();
    late.abort();
  }
}

/** Reads the body up to a limit. A different program on this port may send endless data. */
async function readBody({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxListLength) return '';
  }
  return text + decoder.decode();
}

/**
 * Returns the reason why the server refused. Only an error in JSON counts. Other programs on the
 * port may also require a password, but they do not answer in JSON.
 */
function parseRefusal(status: number, text: string): ServerAnswer | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || fieldOf(parsed.value, 'error') === undefined) return undefined;
  if (status === 401 || status === 403) return { refusal: 'key' };
  return status === 503 ? { refusal: 'loading' } : undefined;
}

function parseModels(text: string): readonly ListedModel[] | undefined {
  const parsed = parseJson(text);
  const list = parsed.ok ? fieldOf(parsed.value, 'data') : undefined;
  if (!Array.isArray(list)) return undefined;
  return list.slice(0, maxModels).flatMap((entry: JsonValue) => {
    const id = fieldOf(entry, 'id');
    if (typeof id !== 'string' || id === '') return [];
    const contextTokens = listedContextTokens(entry);
    return [{ id, ...(contextTokens !== undefined && { contextTokens }) }];
  });
}

/**
 * Returns true if a program listens on a port. Most machines have no model server. Checking with
 * `fetch` would load Node's HTTP client, which takes a tenth of the start time.
 */
export function isListening(
  address: string,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<boolean> {
  const { hostname, port, protocol } = new URL(address);
  const usual = protocol === 'https:' ? 443 : 80;
  return new Promise((resolve) => {
    const end = (isThere: boolean) => {
      cancel();
      socket.destroy();
      resolve(isThere);
    };
    // A URL contains an IPv6 address in brackets. `connect` needs it without brackets.
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({ host, port: port === '' ? usual : Number(port) });
    const cancel = clock.after(timeoutMs, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Returns a field of an object. Returns undefined for values that are not objects. */
function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
