import { type DeltaWriter, type Part, toolCallPart } from '@millrace/core';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { type ScriptedContent, scriptedProvider } from '@millrace/providers/scripted';
import { hostilePayloads } from '../../testing/payloads.ts';
import { stageProvider } from '../../testing/stage-provider.ts';

/** What a test tells the model while it speaks. */
export type Word = 'go' | 'enough';

export interface ToldProviderOptions {
  readonly pauseMs: number;
  readonly told: () => Word;
}

/**
 * The stage's model, which also counts: `count` makes it say `w1 w2 w3 …` until the test has enough, so
 * that nobody has to be fast to come in the middle. `hostile` makes it say all that could do harm.
 */
export function toldProvider({ pauseMs, told }: ToldProviderOptions): Provider {
  const stage = stageProvider({ pauseMs });
  return createProvider('stage', 'stage-1', (request, context) => {
    const call = () => toolCallPart(context.ids.toolCall(), 'hostile', { path: harm, why: said() });
    const content = contentFor(request, told, call);
    if (content === undefined) return stage.stream(request, context);
    const usage = { input: 1200, output: 340 };
    const how = { id: 'stage', model: 'stage-1', pieces: 'token' } as const;
    const pause = { pauseMs: 'parts' in content ? 0 : pauseMs };
    return scriptedProvider([{ content, usage }], { ...how, ...pause }).stream(request, context);
  });
}

function contentFor(
  { items }: ModelRequest,
  told: () => Word,
  call: () => Part,
): ScriptedContent | undefined {
  const at = items.findLastIndex(({ kind }) => kind === 'user');
  const [first] = items[at]?.parts ?? [];
  const verb = first?.kind === 'text' ? first.text.split(/\s/, 1)[0] : undefined;
  if (verb === 'count') return { write: (writer) => counted(writer, told) };
  if (verb !== 'hostile') return undefined;
  if (items.length > at + 1) return { parts: ['That was all of it.'] };
  const texts = hostilePayloads.map(({ text }): Part => ({ kind: 'text', text }));
  return { parts: [...texts, { kind: 'reasoning', form: 'full', text: said() }, call()] };
}

const harm = '"><img src=x onerror=globalThis.ran=1>\u202E';
const said = () => hostilePayloads.map(({ text }) => text).join('\n\n');

/** A guard against tests that never have enough. */
const most = 100_000;

function* counted(writer: DeltaWriter, told: () => Word): Generator<void> {
  const text = writer.text();
  for (let n = 1; n <= most && told() !== 'enough'; n++) {
    text.append(`w${n}${n % 20 === 0 ? '\n\n' : ' '}`);
    yield;
  }
  text.append('END');
  text.commit();
  yield;
}
