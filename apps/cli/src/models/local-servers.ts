import { connect } from 'node:net';
import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import {
  type Clock,
  listedContextTokens,
  readContextWindow,
  systemClock,
} from '@millrace/providers';
import type { ProviderName } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { firstSetVariable } from './vendors.ts';

/** Options for the search for local model servers. */
export interface LocalServerOptions {
  readonly env: Env;
  readonly ports?: Ports | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly timeoutMs?: number | undefined;
}

/** A server that answered, with its models for chat. */
export interface FoundServer {
  readonly server: LocalServer;
  readonly baseUrl: string;
  /** Empty if the server refused to answer. */
  readonly models: readonly ListedModel[];
  /**
   * Why the server refused. `key`: the server needs a key, or another key. `loading`: its model is
   * not loaded yet.
   */
  readonly refusal?: Refusal | undefined;
}

/** Why a server that runs cannot be used now. */
export type Refusal = 'key' | 'loading';

/** Queries all known servers at once and returns those that answer, in order of preference. */
export async function findLocalServers(
  options: LocalServerOptions,
): Promise<readonly FoundServer[]> {
  const found = await Promise.all(localServers.map((server) => queryServer(server, options)));
  return found.filter((one) => one !== undefined);
}

export async function queryServer(
  server: LocalServer,
  options: LocalServerOptions,
): Promise<FoundServer | undefined> {
  const { env, ports, ...rest } = options;
  const baseUrl = serverAddress(server, env, ports);
  const asked = { ...rest, apiKey: serverKey(server, env) };
  const answer = await askForModels(baseUrl, '/models', asked);
  if (answer === undefined) return undefined;
  if ('refusal' in answer) return { server, baseUrl, models: [], refusal: answer.refusal };
  // llama.cpp lists its models to everyone, but answers other requests only with the key.
  const root = baseUrl.replace(/\/v1$/, '');
  const props = server.name === 'llama.cpp' ? await askForModels(root, '/props', asked) : undefined;
  if (props !== undefined && 'refusal' in props)
    return { server, baseUrl, models: [], refusal: props.refusal };
  return { server, baseUrl, models: answer.models.filter(({ id }) => isChatModel(id)) };
}

/** Returns the key of a server from its environment variable. */
export function serverKey({ keyVariable }: LocalServer, env: Env): string | undefined {
  return firstSetVariable(env, keyVariable === undefined ? [] : [keyVariable])?.value;
}

/**
 * Reads the context window with which the server runs a model. Ollama and LM Studio do not include
 * it in their lists of models.
 */
export async function readWindow(
  { server, baseUrl }: FoundServer,
  { id, contextTokens }: ListedModel,
  { env, ports: _ports, ...rest }: LocalServerOptions,
): Promise<number | undefined> {
  if (contextTokens !== undefined || server.name === 'litellm') return contextTokens;
  const asked = { ...rest, apiKey: serverKey(server, env), timeoutMs: rest.timeoutMs ?? 1000 };
  return readContextWindow({ ...asked, server: server.name, baseUrl, model: id });
}

/** Returns true if a model can chat. Servers also list models for embeddings and audio. */
function isChatModel(id: string): boolean {
  return !/embed|rerank|whisper|(?:^|[-_/])(?:bge|tts)(?:[-_]|$)/i.test(id);
}

/** A model server that runs on the user's machine. */
export interface LocalServer {
  readonly name: LocalName;
  /** The name for messages. */
  readonly title: string;
  readonly port: number;
  /** The environment variable with the key. Undefined if the server needs no key. */
  readonly keyVariable?: string | undefined;
  /** The command that starts the server. */
  readonly start: string;
}

export type LocalName = Extract<
  ProviderName,
  'ollama' | 'lm-studio' | 'llama.cpp' | 'vllm' | 'litellm'
>;

/** The local servers, in order of preference. */
export const localServers: readonly LocalServer[] = [
  { name: 'ollama', title: 'Ollama', port: 11434, start: 'ollama serve' },
  { name: 'lm-studio', title: 'LM Studio', port: 1234, start: 'lms server start' },
  {
    name: 'llama.cpp',
    title: 'llama.cpp',
    port: 8080,
    keyVariable: 'LLAMA_API_KEY',
    start: 'llama-server -m model.gguf',
  },
  {
    name: 'vllm',
    title: 'vLLM',
    port: 8000,
    keyVariable: 'VLLM_API_KEY',
    start: 'vllm serve <model>',
  },
  {
    name: 'litellm',
    title: 'LiteLLM',
    port: 4000,
    keyVariable: 'LITELLM_API_KEY',
    start: 'litellm --config config.yaml',
  },
];

/** The ports that replace the default ports in tests. */
export type Ports = Readonly<Partial<Record<LocalName, number>>>;

/**
 * Returns the address of a server. For Ollama, the environment variable OLLAMA_HOST overrides the
 * default.
 */
export function serverAddress({ name, port }: LocalServer, env: Env, ports: Ports = {}): string {
  const host = env['OLLAMA_HOST'];
  if (name === 'ollama' && ports.ollama === undefined && host) return ollamaAddress(host, port);
  return `http://127.0.0.1:${ports[name] ?? port}/v1`;
}

/**
 * Returns the address for a value of OLLAMA_HOST, which may be a host, a port, both, or a URL. A
 * server can listen on 0.0.0.0, but a client cannot connect to it, so that host is replaced.
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
   * How long to wait for an answer. Default: 400 ms. It is short, because the user waits for the
   * prompt.
   */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const maxListLength = 4_000_000;
const maxModels = 1000;

/**
 * Lists the models of a server with OpenAI's API. Returns undefined if nothing listens, if another
 * program uses the port, or after the timeout.
 */
export async function listModels(
  baseUrl: string,
  options: ListOptions = {},
): Promise<readonly ListedModel[] | undefined> {
  const answer = await askForModels(baseUrl, '/models', options);
  return answer !== undefined && 'models' in answer ? answer.models : undefined;
}

type ServerAnswer = { readonly models: readonly ListedModel[] } | { readonly refusal: Refusal };

async function askForModels(
  baseUrl: string,
  path: '/models' | '/props',
  options: ListOptions,
): Promise<ServerAnswer | undefined> {
  const { apiKey, timeoutMs = 400, clock = systemClock } = options;
  // A custom fetch, as in tests, needs no open port, so the port is not checked.
  const isAsked = options.fetch !== undefined || (await isListening(baseUrl, { clock, timeoutMs }));
  if (!isAsked) return undefined;
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

/** Reads the body up to a limit, because the program on this port may send endless data. */
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
 * Returns why the server refused. An error must be in JSON, because other programs on the port can
 * also require a password, but they do not answer in JSON.
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
 * Returns true if a program listens on a port. Most machines have no model server. A check with
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
    // A URL writes an IPv6 address in brackets; `connect` takes it without.
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({ host, port: port === '' ? usual : Number(port) });
    const cancel = clock.after(timeoutMs, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Returns a field of an object; undefined for any other value. */
function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
