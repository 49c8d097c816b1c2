import { anthropic, gemini, openaiChat, openaiResponses, type Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { findLocalServer } from './local-servers.ts';

interface Asked {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
}

interface Found {
  readonly provider: Provider;
  readonly why: string;
}

interface Hosted {
  /** Any of them says that the key is there. */
  readonly variables: readonly string[];
  readonly model: string;
  readonly create: (model: string, baseUrl: string | undefined) => Provider;
}

const chat =
  (preset: 'openrouter' | 'groq' | 'mistral' | 'deepseek' | 'xai' | 'together'): Hosted['create'] =>
  (model, baseUrl) =>
    openaiChat({ preset, model, baseUrl });

const hosted: Readonly<Record<string, Hosted>> = {
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

export async function findProvider(asked: Asked): Promise<Found> {
  if (asked.provider !== undefined) return named(asked.provider, asked);
  if (asked.baseUrl !== undefined) return atUrl(asked.baseUrl, asked.model);
  const withKey = Object.entries(hosted).find(
    ([, { variables }]) => keyIn(variables) !== undefined,
  );
  if (withKey !== undefined) return named(withKey[0], asked);
  const local = await findLocalServer();
  if (local === undefined) return scripted();
  const model = asked.model ?? local.model;
  const provider = openaiChat({ preset: local.preset, model, baseUrl: local.baseUrl });
  return { provider, why: `it answers at ${local.baseUrl}` };
}

function named(name: string, { model, baseUrl }: Asked): Found {
  const entry = Object.hasOwn(hosted, name) ? hosted[name] : undefined;
  if (entry === undefined) return scripted();
  const key = keyIn(entry.variables);
  const why = key === undefined ? `there is no ${entry.variables[0]}` : `${key} is set`;
  return { provider: entry.create(model ?? entry.model, baseUrl), why };
}

function atUrl(baseUrl: string, model = 'default'): Found {
  return { provider: openaiChat({ model, baseUrl }), why: `as --base-url says, at ${baseUrl}` };
}

function keyIn(variables: readonly string[]): string | undefined {
  return variables.find((name) => process.env[name]);
}

/** What answers where there is neither a key nor a server. */
function scripted(): Found {
  const provider = scriptedProvider(
    [
      {
        content: {
          parts: [
            { kind: 'reasoning', form: 'full', text: 'A short answer is wanted.' },
            'A millrace is the channel that leads water onto a mill wheel. Here the water is what a model says, and the wheel is the agent loop.',
          ],
        },
      },
    ],
    { pieces: 'token', pauseMs: process.stdout.isTTY ? 40 : 0 },
  );
  const why =
    'no key is set and no model server answers on this machine, so a script does. Set for instance ANTHROPIC_API_KEY, start Ollama, or pass --base-url';
  return { provider, why };
}
