import type { ProviderName } from '../config/config.ts';
import type { Env } from './env.ts';

/** A server of models that people run on their own machine. */
export interface LocalServer {
  readonly name: LocalName;
  /** For people. */
  readonly title: string;
  readonly port: number;
  /** Its key, if it wants one. */
  readonly keyVariable?: string | undefined;
  /** How it is started. */
  readonly start: string;
}

export type LocalName = Extract<
  ProviderName,
  'ollama' | 'lm-studio' | 'llama.cpp' | 'vllm' | 'litellm'
>;

/** In the order in which they are preferred. */
export const localServers: readonly LocalServer[] = [
  { name: 'ollama', title: 'Ollama', port: 11434, start: 'ollama serve' },
  { name: 'lm-studio', title: 'LM Studio', port: 1234, start: 'lms server start' },
  { name: 'llama.cpp', title: 'llama.cpp', port: 8080, start: 'llama-server -m model.gguf' },
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

/** Other ports than the usual ones, for tests. */
export type Ports = Readonly<Partial<Record<LocalName, number>>>;

/** Where a server would be. Ollama's own variable says where Ollama is. */
export function addressOf({ name, port }: LocalServer, env: Env, ports: Ports = {}): string {
  const host = env['OLLAMA_HOST'];
  if (name === 'ollama' && ports.ollama === undefined && host) return ollamaAddress(host, port);
  return `http://127.0.0.1:${ports[name] ?? port}/v1`;
}

/** It may be a name, a port, both or a URL; an address to listen on at all places is none to ask. */
function ollamaAddress(host: string, port: number): string {
  const url = URL.parse(
    /^https?:\/\//.test(host) ? host : `http://${host.replace(/^:/, '127.0.0.1:')}`,
  );
  if (url === null) return `http://127.0.0.1:${port}/v1`;
  const name = url.hostname === '0.0.0.0' ? '127.0.0.1' : url.hostname;
  const isPlain = url.protocol === 'http:';
  return `${url.protocol}//${name}:${url.port || (isPlain ? port : 443)}/v1`;
}
