import { type DeltaWriter, type Part, toolCallPart } from '@millrace/core';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { type ScriptedContent, scriptedProvider } from '@millrace/providers/scripted';
import { hostilePayloads } from '../../../../../packages/react/src/testing/hostile-payloads.ts';
import { demoProvider } from '../../testing/demo-provider.ts';

/**
 * A command that a test sends to the model while the model streams. `hold` stops the program of the
 * tool `run` after its first test, until the next command.
 */
export type ModelCommand = 'go' | 'enough' | 'hold';

interface ControlledProviderOptions {
  readonly pauseMs: number;
  readonly command: () => ModelCommand;
}

/**
 * Creates the demo model with six additional commands. `count` streams `w1 w2 w3 …` until the test
 * sends `enough`, so that a test need not be fast. `hostile` sends all hostile payloads. `write`
 * calls the write tool once for each further line, which is JSON. `say` answers with the further
 * lines, and `stream` streams them with pauses. `texts 5` answers with five parts, which all have the
 * further lines.
 */
export function controlledProvider({ pauseMs, command }: ControlledProviderOptions): Provider {
  const demo = demoProvider({ pauseMs });
  return createProvider('demo', 'demo-1', (request, context) => {
    const call = () =>
      toolCallPart(context.ids.toolCall(), 'hostile', { path: hostilePath, why: allPayloads() });
    const write = (line: string) => {
      const content = JSON.parse(line) as string;
      return toolCallPart(context.ids.toolCall(), 'write', { path: 'notes/a.md', content });
    };
    const content = contentFor(request, command, call, write);
    if (content === undefined) return demo.stream(request, context);
    const usage = { input: 1200, output: 340 };
    const options = { id: 'demo', model: 'demo-1', pieces: 'token' } as const;
    const pause = { pauseMs: 'parts' in content ? 0 : pauseMs };
    return scriptedProvider([{ content, usage }], { ...options, ...pause }).stream(
      request,
      context,
    );
  });
}

function contentFor(
  { items }: ModelRequest,
  command: () => ModelCommand,
  call: () => Part,
  write: (line: string) => Part,
): ScriptedContent | undefined {
  const at = items.findLastIndex(({ kind }) => kind === 'user');
  const [first] = items[at]?.parts ?? [];
  const [start, ...lines] = first?.kind === 'text' ? first.text.split('\n') : [];
  const verb = start?.split(/\s/, 1)[0];
  if (verb === 'count') return { write: (writer) => counted(writer, command) };
  if (verb === 'stream') return { write: (writer) => streamed(writer, lines.join('\n')) };
  if (verb === 'say') return { parts: [lines.join('\n')] };
  if (verb === 'texts') {
    const count = Number(start?.split(' ')[1]);
    return { parts: Array.from({ length: count }, () => lines.join('\n')) };
  }
  if (verb !== 'hostile' && verb !== 'write') return undefined;
  if (items.length > at + 1) return { parts: ['That was all of it.'] };
  if (verb === 'write') return { parts: lines.map(write) };
  const texts = hostilePayloads.map(({ text }): Part => ({ kind: 'text', text }));
  return { parts: [...texts, { kind: 'reasoning', form: 'full', text: allPayloads() }, call()] };
}

const hostilePath = '"><img src=x onerror=globalThis.ran=1>\u202E';
const allPayloads = () => hostilePayloads.map(({ text }) => text).join('\n\n');

/** Streams a text in pieces of a few characters, with pauses. */
function* streamed(writer: DeltaWriter, source: string): Generator<void> {
  const text = writer.text();
  for (const piece of source.match(/[\s\S]{1,7}/g) ?? []) {
    text.append(piece);
    yield;
  }
  text.commit();
  yield;
}

/** Maximum number of words, for the case that a test never sends `enough`. */
const maxCount = 100_000;

function* counted(writer: DeltaWriter, command: () => ModelCommand): Generator<void> {
  const text = writer.text();
  for (let n = 1; n <= maxCount && command() !== 'enough'; n++) {
    text.append(`w${n}${n % 20 === 0 ? '\n\n' : ' '}`);
    yield;
  }
  text.append('END');
  text.commit();
  yield;
}
