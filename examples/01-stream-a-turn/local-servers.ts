import type { ChatPreset } from '@millrace/providers';

export interface LocalServer {
  readonly preset: ChatPreset;
  readonly baseUrl: string;
  /** The first that it lists. */
  readonly model: string;
}

/** Where model servers listen unless they are told otherwise. */
const places: readonly (readonly [ChatPreset, string])[] = [
  ['ollama', 'http://127.0.0.1:11434/v1'],
  ['lm-studio', 'http://127.0.0.1:1234/v1'],
  ['llama.cpp', 'http://127.0.0.1:8080/v1'],
  ['vllm', 'http://127.0.0.1:8000/v1'],
  ['litellm', 'http://127.0.0.1:4000/v1'],
];

const patienceMs = 500;

/** The first server of this machine that lists a model. */
export async function findLocalServer(): Promise<LocalServer | undefined> {
  const found = await Promise.all(places.map(([preset, baseUrl]) => ask(preset, baseUrl)));
  return found.find((server) => server !== undefined);
}

async function ask(preset: ChatPreset, baseUrl: string): Promise<LocalServer | undefined> {
  try {
    const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(patienceMs) });
    const { data } = (await response.json()) as { data?: readonly { id?: string }[] };
    const model = data?.[0]?.id;
    return model === undefined ? undefined : { preset, baseUrl, model };
  } catch {
    // Nobody is there, or something else is.
    return undefined;
  }
}
