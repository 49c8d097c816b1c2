import { type Ids, type JsonObject, type Part, toolCallPart } from '@millrace/core';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { type ScriptedResponse, scriptedProvider } from '@millrace/providers/scripted';

export interface DemoProviderOptions {
  /** Pause between two tokens. Default: 12 ms. */
  readonly pauseMs?: number | undefined;
}

/**
 * Creates a model that obeys the first word of the message: `tools`, `many`, `ask`, `draw`, `long
 * 500`, `flaky`, `fail` or `code`. It answers all other messages with the essay.
 */
export function demoProvider({ pauseMs = 12 }: DemoProviderOptions = {}): Provider {
  const tried = new Set<string>();
  return createProvider('demo', 'demo-1', (request, context) => {
    const response = answer(request, context.ids, tried);
    const options = { id: 'demo', model: 'demo-1', pieces: 'token', pauseMs } as const;
    return scriptedProvider([{ usage: { input: 1200, output: 340 }, ...response }], options).stream(
      request,
      context,
    );
  });
}

function answer(
  request: ModelRequest,
  ids: Pick<Ids, 'toolCall'>,
  tried: Set<string>,
): ScriptedResponse {
  const at = request.items.findLastIndex(({ kind }) => kind === 'user');
  const message = textOf(request.items[at]?.parts ?? []);
  const steps = request.items.slice(at + 1).filter(({ kind }) => kind === 'tool').length;
  const call = (name: string, input: JsonObject) => toolCallPart(ids.toolCall(), name, input);
  const files = request.items[at]?.parts.flatMap(fileLine) ?? [];
  if (files.length > 0 && steps === 0) return respond([`I got:\n\n${files.join('\n')}\n`]);
  const [verb = '', argument = ''] = message.toLowerCase().split(/\s+/);
  switch (verb) {
    case 'tools':
      return respond(toolsStep(steps, call));
    case 'many':
      return respond(manyStep(steps, call));
    case 'ask':
      return respond(askStep(steps, call));
    case 'draw':
      return respond(steps > 0 ? ['There it is.\n'] : [call('draw', { what: 'a river' })]);
    case 'long':
      return respond([longText(Number(argument) || 400)]);
    case 'flaky': {
      const isFirst = !tried.has(message);
      tried.add(message);
      const fault = { type: 'error', after: 20, error: 'overloaded' } as const;
      return { ...respond([essay]), ...(isFirst && { fault }) };
    }
    case 'fail':
      return {
        ...respond(['This answer will fail because']),
        fault: { type: 'error', after: 4, error: 'auth' },
      };
    case 'code':
      return respond([
        `Here it is:\n\n\`\`\`ts\n${codeOf(Number(argument) || 120)}\n\`\`\`\n\nThat is all.`,
      ]);
    default:
      return respond([
        thought('The user asks about Millrace. I will answer with a list, a table and some code.'),
        essay,
      ]);
  }
}

function respond(parts: readonly (Part | string)[]): ScriptedResponse {
  return { content: { parts } };
}

function thought(text: string): Part {
  return { kind: 'reasoning', form: 'full', text };
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join(' ');
}

/** Describes a file that the model has received. */
function fileLine(part: Part): string | [] {
  if (part.kind !== 'file' || part.source.type !== 'bytes') return [];
  return `- ${part.name} (${part.mimeType}, ${part.source.bytes.length} bytes)`;
}

type Call = (name: string, input: JsonObject) => Part;

function toolsStep(step: number, call: Call): readonly (Part | string)[] {
  if (step === 0)
    return [
      thought('I read the code first.'),
      'I read the code and run the tests first.\n',
      call('read', { path: 'src/fold.ts', from: 1, to: 40 }),
      call('run', { command: 'npm test -- --reporter=dot', timeout_ms: 60_000 }),
    ];
  if (step === 1)
    return [
      'The test fails because it reports a **gap** for a duplicate record. I will change that.\n',
      call('patch', { path: 'src/fold.ts' }),
    ];
  return ['Done: a duplicate record now has no effect, and the tests pass.\n'];
}

function manyStep(step: number, call: Call): readonly (Part | string)[] {
  if (step > 0) return ['I read everything, and one edit failed.\n'];
  const paths = ['fold.ts', 'apply.ts', 'log.ts', 'lease.ts'];
  return [
    'I look at the code first.\n',
    ...paths.map((name) => call('read', { path: `src/${name}`, from: 1, to: 40 })),
    call('patch', { path: 'src/none.ts' }),
    call('run', { command: 'npm test', timeout_ms: 60_000 }),
  ];
}

function askStep(step: number, call: Call): readonly (Part | string)[] {
  if (step > 0) return ['Thank you. That is done.\n'];
  return [
    'I would like to write a file.\n',
    call('write', {
      path: 'notes/today.md',
      content: '# Today\n\n- check the weather\n- refund the order\n',
    }),
  ];
}

function longText(count: number): string {
  const message =
    'the server stores every order and sends the customer a message when it ships'.split(' ');
  const sentences = Array.from({ length: count }, (_, at) => {
    const sentence = `${message.map((word, index) => message[(index * 7 + at) % message.length] ?? word).join(' ')}.`;
    return at % 6 === 5 ? `${sentence}\n\n` : `${sentence} `;
  });
  return sentences.join('');
}

function codeOf(lines: number): string {
  return Array.from(
    { length: lines },
    (_, at) => `export const line${at}: number = ${at} * 2; // the ${at}th`,
  ).join('\n');
}

/** The demo answer. It contains every kind of Markdown element. */
const essay: string = `## What Millrace does

Millrace stores everything that a model **streams**. Clients read the *records*, and the agent loop writes them.

1. Each streamed piece becomes a numbered record.
2. The page folds those records into:
   - messages,
   - tool calls,
   - costs.

| step | place | cost |
|---|---|---:|
| deltas | the log | 12 µs |
| the fold | the page | 3 µs |
| a reconnect | any client | 0 words lost |

\`\`\`ts
import { createAgent } from '@millrace/agent';

/** Sends a greeting and prints the answer. */
const agent = createAgent({ provider, tools: [weather] });
for await (const event of agent.run('Hello').events) {
  if (event.type === 'assistant_text_delta') process.stdout.write(event.text);
}
\`\`\`

> The run continues when a reader disconnects. The reader can resume later without losing text.

- [x] tokens arrive
- [ ] nothing is lost

See [the protocol](https://example.com/protocol) for \`append_text\` and the rest.
`;
