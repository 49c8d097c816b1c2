import { anthropic, gemini, openaiChat, openaiResponses, type Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { findLocalServer } from './local-servers.ts';

interface ProviderOptions {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
}

interface FoundProvider {
  readonly provider: Provider;
  /** The reason why this provider was chosen. */
  readonly reason: string;
}

interface HostedProvider {
  /** The environment variables that can contain the key. */
  readonly variables: readonly string[];
  readonly model: string;
  readonly create: (model: string, baseUrl: string | undefined) => Provider;
}

const chat =
  (
    preset: 'openrouter' | 'groq' | 'mistral' | 'deepseek' | 'xai' | 'together',
  ): HostedProvider['create'] =>
  (model, baseUrl) =>
    openaiChat({ preset, model, baseUrl });

const hosted: Readonly<Record<string, HostedProvider>> = {
  anthropic: {
    variables: ['ANTHROPIC_API_KEY'],
    model: 'claude-sonnet-4-5',
    create: (model, baseUrl) => anthropic({ model, baseUrl }),
  },
  openai: {
    variables: ['OPENAI_API_KEY'],
    model: 'gpt-5-mini',
    create: (model, baseUrl) => openaiResponses({ preset: 'openai', model, baseUrl }),
  },
  gemini: {
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    model: 'gemini-2.5-flash',
    create: (model, baseUrl) => gemini({ model, baseUrl }),
  },
  openrouter: {
    variables: ['OPENROUTER_API_KEY'],
    model: 'openai/gpt-5-mini',
    create: chat('openrouter'),
  },
  groq: { variables: ['GROQ_API_KEY'], model: 'openai/gpt-oss-20b', create: chat('groq') },
  mistral: {
    variables: ['MISTRAL_API_KEY'],
    model: 'mistral-small-latest',
    create: chat('mistral'),
  },
  deepseek: { variables: ['DEEPSEEK_API_KEY'], model: 'deepseek-chat', create: chat('deepseek') },
  xai: { variables: ['XAI_API_KEY'], model: 'grok-4-fast', create: chat('xai') },
  together: {
    variables: ['TOGETHER_API_KEY'],
    model: 'openai/gpt-oss-20b',
    create: chat('together'),
  },
};

export const providerNames: readonly string[] = [...Object.keys(hosted), 'scripted'];

/**
 * Finds a provider. The order is: the requested provider, a provider whose key is set, a local
 * server, a scripted model.
 */
export async function findProvider(options: ProviderOptions): Promise<FoundProvider> {
  if (options.provider !== undefined) return hostedProvider(options.provider, options);
  if (options.baseUrl !== undefined) return providerAtUrl(options.baseUrl, options.model);
  const withKey = Object.entries(hosted).find(
    ([, { variables }]) => keyIn(variables) !== undefined,
  );
  if (withKey !== undefined) return hostedProvider(withKey[0], options);
  const local = await findLocalServer();
  if (local === undefined) return scriptedAnswer();
  const model = options.model ?? local.model;
  const provider = openaiChat({ preset: local.preset, model, baseUrl: local.baseUrl });
  return { provider, reason: `a server runs at ${local.baseUrl}` };
}

function hostedProvider(name: string, { model, baseUrl }: ProviderOptions): FoundProvider {
  const entry = Object.hasOwn(hosted, name) ? hosted[name] : undefined;
  if (entry === undefined) return scriptedAnswer();
  const key = keyIn(entry.variables);
  const reason = key === undefined ? `${entry.variables[0]} is not set` : `${key} is set`;
  return { provider: entry.create(model ?? entry.model, baseUrl), reason };
}

function providerAtUrl(baseUrl: string, model = 'default'): FoundProvider {
  return { provider: openaiChat({ model, baseUrl }), reason: `--base-url is ${baseUrl}` };
}

function keyIn(variables: readonly string[]): string | undefined {
  return variables.find((name) => process.env[name]);
}

/** Returns a scripted model. It is used if there is no key and no model server. */
function scriptedAnswer(): FoundProvider {
  const provider = scriptedProvider(
    [
      {
        content: {
          parts: [
            { kind: 'reasoning', form: 'full', text: 'The user wants a short answer.' },
            'A millrace is the channel that carries water to a mill wheel: here the water is the output of a model, and the wheel is the agent loop.',
          ],
        },
      },
    ],
    { pieces: 'token', pauseMs: process.stdout.isTTY ? 40 : 0 },
  );
  const reason =
    'no key is set and no model server runs on this machine, so a script answers. Set for example ANTHROPIC_API_KEY, start Ollama, or pass --base-url';
  return { provider, reason };
}
