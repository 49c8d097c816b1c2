import type { ProviderName } from '../config/config.ts';

/** A question to a provider that costs nothing, and that only a right key gets answered. */
export interface VendorProbe {
  readonly url: string;
  /** Where the address is not the usual one, this is appended to it. */
  readonly path: string;
  readonly headers: (key: string) => Readonly<Record<string, string>>;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

function openAiLike(base: string, path = '/models'): VendorProbe {
  return { url: `${base}${path}`, path, headers: bearer };
}

/** Whoever else speaks OpenAI's API, at an address that has to be known. */
export const compatibleProbe: VendorProbe = { url: '', path: '/models', headers: bearer };

/** Azure has no address of its own to ask. */
export const vendorProbes: Readonly<Partial<Record<ProviderName, VendorProbe>>> = {
  anthropic: {
    url: 'https://api.anthropic.com/v1/models',
    path: '/v1/models',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
  openai: openAiLike('https://api.openai.com/v1'),
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models',
    path: '/models',
    headers: (key) => ({ 'x-goog-api-key': key }),
  },
  // Its list of models is open to everybody.
  openrouter: openAiLike('https://openrouter.ai/api/v1', '/key'),
  groq: openAiLike('https://api.groq.com/openai/v1'),
  mistral: openAiLike('https://api.mistral.ai/v1'),
  deepseek: openAiLike('https://api.deepseek.com'),
  xai: openAiLike('https://api.x.ai/v1'),
  together: openAiLike('https://api.together.xyz/v1'),
};
