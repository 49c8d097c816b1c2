import type { ChatPreset } from '@millrace/providers';

export interface LocalServer {
  readonly preset: ChatPreset;
  readonly baseUrl: string;
  /** The first model that the server lists. */
  readonly model: string;
}

/** The default addresses of common model servers. */
const defaultAddresses: readonly (readonly [ChatPreset, string])[] = [
  ['ollama', 'http://127.0.0.1:11434/v1'],
  ['lm-studio', 'http://127.0.0.1:1234/v1'],
  ['llama.cpp', 'http://127.0.0.1:8080/v1'],
  ['vllm', 'http://127.0.0.1:8000/v1'],
  ['litellm', 'http://127.0.0.1:4000/v1'],
];

const timeoutMs = 500;

/** Returns the first server on this machine that lists a model. */
export async function findLocalServer(): Promise<LocalServer | undefined> {
  const found = await Promise.all(
    defaultAddresses.map(([preset, baseUrl]) => firstModel(preset, baseUrl)),
  );
  return found.find((server) => server !== undefined);
}

async function firstModel(preset: ChatPreset, baseUrl: string): Promise<LocalServer | undefined> {
  try {
    const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(timeoutMs) });
    const { data } = (await response.json()) as { data?: readonly { id?: string }[] };
    const model = data?.[0]?.id;
    return model === undefined ? undefined : { preset, baseUrl, model };
  } catch {
    // No server listens at this address, or it is not a model server.
    return undefined;
  }
}
