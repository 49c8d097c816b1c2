import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openaiChat } from '../openai-chat/provider.ts';

// Another user of the machine listens on the default port of a local model server.

beforeEach(() => {
  for (const name of ['VLLM_API_KEY', 'LLAMA_API_KEY', 'LITELLM_API_KEY'])
    vi.stubEnv(name, 'key-of-the-environment');
});
afterEach(() => void vi.unstubAllEnvs());

/** Returns the keys that the first request of a provider sends. */
async function sentKeys(options: Parameters<typeof openaiChat>[0]): Promise<readonly unknown[]> {
  const sent: unknown[] = [];
  const fetch = async (_url: unknown, init?: RequestInit) => {
    sent.push(new Headers(init?.headers).get('authorization'));
    return new Response('{}', { status: 400 });
  };
  await openaiChat({ ...options, fetch: fetch as never })
    .complete({ items: [] })
    .catch(() => {});
  return sent;
}

test.each(['vllm', 'llama.cpp', 'litellm'] as const)(
  '18.150: attack: the preset %s sends no key of the environment to its default port',
  async (preset) => {
    expect(await sentKeys({ preset, model: 'm' })).toEqual([null]);
    expect(await sentKeys({ preset, model: 'm', apiKey: 'own' })).toEqual(['Bearer own']);
    const baseUrl = 'http://models.example/v1';
    expect(await sentKeys({ preset, model: 'm', baseUrl })).toEqual([
      'Bearer key-of-the-environment',
    ]);
  },
);
