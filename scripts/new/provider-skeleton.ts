import type { Names, Skeleton } from './skeleton.ts';

/**
 * Returns the skeleton of a provider that streams over HTTP. It has options, a request, a stream,
 * and the conformance suite.
 */
export function providerSkeleton(names: Names): Skeleton {
  const folder = `packages/providers/src/${names.kebab}`;
  return {
    folder,
    test: folder,
    guide: 'docs/extend/provider.md',
    files: {
      [`${folder}/request.ts`]: requestFile(names),
      [`${folder}/stream.ts`]: streamFile(names),
      [`${folder}/provider.ts`]: providerFile(names),
      [`${folder}/conformance.test.ts`]: testFile(names),
      [`${folder}/request.test.ts`]: requestTestFile(names),
    },
    steps: [
      `conformance.test.ts: what the API sends for an answer`,
      `stream.ts: the messages of the stream to deltas`,
      `request.test.ts and request.ts: the address, and the body that the API expects`,
      `packages/providers/src/index.ts: export ${names.camel} and ${names.pascal}Options`,
    ],
  };
}

const requestFile = ({
  kebab,
  camel,
  pascal,
  upper,
}: Names) => `import type { JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Message } from '../history/message.ts';
import { toMessages } from '../history/to-messages.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import { type Endpoint, httpRequestTo, unknownEndpoint } from '../wire/endpoint.ts';

/** Options of \`${camel}\`. */
export interface ${pascal}Options extends ApiOptions {}

const endpoint: Endpoint = {
  ...unknownEndpoint,
  id: '${kebab}',
  baseUrl: 'https://api.${kebab}.example/v1',
  url: '{base}/chat',
  keyVariables: ['${upper}_API_KEY'],
  needsKey: true,
};

export const providerId: string = endpoint.id;

/** Builds the HTTP request of a model request. */
export function ${camel}Request(request: ModelRequest, options: ${pascal}Options): HttpRequest {
  const { model } = options;
  const messages = toMessages(request, { provider: providerId, model });
  return httpRequestTo(endpoint, options, {
    model,
    stream: true,
    messages: messages.flatMap(messageBodies),
    ...request.providerOptions,
  });
}

/**
 * Converts a message to the format of the API. The roles are system, developer, user, assistant and tool;
 * history/message.ts describes their parts. A tool message has one result for each call before it.
 */
function messageBodies(message: Message): readonly JsonObject[] {
  throw new Error(\`Not written yet: the body of a message of the role \${message.role}\`);
}
`;

const streamFile = ({ pascal }: Names) => `import {
  type DeltaWriter,
  type JsonObject,
  type JsonValue,
  noUsage,
  type ReasoningWriter,
  type Stop,
  type TextWriter,
  toolCallId,
  type Usage,
} from '@millrace/core';
import { fault, WireFault } from '../errors/wire-fault.ts';
import { countIn, textIn } from '../json/fields.ts';
import { stopOf } from '../wire/response-end.ts';
import type { ReaderContext, ReportedResponse, WireReader } from '../wire/wire.ts';

/** The stop reasons of the API, and the stop reasons of Millrace that they become. */
const stopReasons = { stop: 'stop', length: 'length', tool_calls: 'tool_use' } as const;

/** Reads one response. It gets the messages of the response and writes deltas. */
export class ${pascal}Reader implements WireReader {
  progress: WireReader['progress'] = 'reading';
  readonly #writer: DeltaWriter;
  /** The open part. It is committed when a part of another kind starts. */
  #open: TextWriter | ReasoningWriter | undefined;
  #hasCalls = false;
  #reason = '';
  #usage: Usage | undefined;

  constructor({ writer }: ReaderContext) {
    this.#writer = writer;
  }

  get details(): ReportedResponse {
    return { usage: this.#usage };
  }

  /**
   * Reads one message. Replace this format, { reasoning, text, call, stop_reason, error }, by the format
   * of the API. Read fields with \`textIn\`, \`countIn\` and \`objectIn\` of ../json/fields.ts.
   */
  readMessage(data: JsonObject): void {
    const error = textIn(data, 'error');
    if (error !== undefined) throw new WireFault({ message: error, codes: [] });
    const reasoning = textIn(data, 'reasoning');
    const text = textIn(data, 'text');
    const call = textIn(data, 'call');
    if (reasoning !== undefined) this.#partOf('reasoning').append(reasoning);
    if (text !== undefined) this.#partOf('text').append(text);
    if (call !== undefined) this.#call(call, data);
    const reason = textIn(data, 'stop_reason');
    if (reason === undefined) return;
    this.#reason = reason;
    const [input, output] = [countIn(data, 'in') ?? 0, countIn(data, 'out') ?? 0];
    this.#usage = { ...noUsage, input, output };
    this.progress = 'over';
  }

  /** Reads an answer of a server that does not stream. This API always streams. */
  readWholeBody(_body: JsonValue): void {
    throw fault('protocol_error', 'the answer is not a stream');
  }

  finish(): Stop {
    this.#open?.commit();
    return stopOf(this.#reason, stopReasons, this.#hasCalls);
  }

  /** Returns the open part of this kind, or starts one. */
  #partOf(kind: 'text' | 'reasoning'): TextWriter | ReasoningWriter {
    if (this.#open?.kind === kind) return this.#open;
    this.#open?.commit();
    this.#open = kind === 'text' ? this.#writer.text() : this.#writer.reasoning();
    return this.#open;
  }

  /** Writes a call that arrives whole. A streamed call stays open between its pieces. */
  #call(id: string, data: JsonObject): void {
    this.#open?.commit();
    this.#open = undefined;
    this.#hasCalls = true;
    const call = this.#writer.toolCall(toolCallId(id), textIn(data, 'name') ?? '');
    call.append(textIn(data, 'arguments') ?? '');
    call.commit();
  }
}
`;

const providerFile = ({
  kebab,
  camel,
  pascal,
  upper,
}: Names) => `import type { Provider } from '../contract/provider.ts';
import { copyOptions } from '../wire/api-options.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { type ${pascal}Options, ${camel}Request, providerId } from './request.ts';
import { ${pascal}Reader } from './stream.ts';

/**
 * Creates a provider for the API of ${kebab}. Default of \`apiKey\`: the environment variable
 * \`${upper}_API_KEY\`.
 *
 * @example
 * const provider = ${camel}({ model: '${kebab}-1' });
 */
export function ${camel}(options: ${pascal}Options): Provider {
  const copied = copyOptions(options);
  return wireProvider(
    {
      provider: providerId,
      model: copied.model,
      http: (request) => ${camel}Request(request, copied),
      reader: (context) => new ${pascal}Reader(context),
    },
    options,
  );
}
`;

const testFile = ({ kebab, camel }: Names) => `import { describe, test } from 'vitest';
import {
  type ConformanceAnswer,
  type ConformanceSubject,
  conformanceCases,
} from '../conformance/index.ts';
import { sseOf } from '../testing/fetch-of.ts';
import { ${camel} } from './provider.ts';

/** Splits a text into small pieces, as a model streams it. */
const piecesOf = (text = ''): readonly string[] => text.match(/.{1,5}/gsu) ?? [];

/**
 * Returns the events that the API sends for an answer. These are reasoning and text in pieces, then
 * the calls, each with its own id, then the end. docs/extend/provider.md describes \`answer\`.
 */
function eventsOf(answer: ConformanceAnswer): readonly object[] {
  throw new Error(\`Not written yet: the events of \${piecesOf(answer.text).join('|')}\`);
}

/**
 * Sends each event in a separate read. Then it closes, or stalls until the request is cancelled.
 */
function bodyOf(events: readonly object[], isStalling: boolean): ReadableStream<Uint8Array> {
  const reads = events.map((event) => new TextEncoder().encode(sseOf([event])));
  return new ReadableStream(
    {
      pull: (stream) => {
        const next = reads.shift();
        if (next !== undefined) stream.enqueue(next);
        else if (isStalling) return new Promise(() => {});
        else stream.close();
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

const headers = { 'content-type': 'text/event-stream' };
const subject: ConformanceSubject = {
  provider: (answer) => {
    // The events are built here and not inside of fetch, so that an error in eventsOf fails the
    // test.
    const events = eventsOf(answer);
    const fetch = async () => new Response(bodyOf(events, answer.ends === 'stall'), { headers });
    return ${camel}({ model: '${kebab}-1', apiKey: 'key', fetch });
  },
};

describe('${kebab} passes the conformance suite', () => {
  test.each(conformanceCases(subject))('$name', ({ run }) => run());
});
`;

const requestTestFile = ({
  camel,
  kebab,
}: Names) => `import { type Item, itemId, toolCallId, toolCallPart } from '@millrace/core';
import { expect, test } from 'vitest';
import { ${camel} } from './provider.ts';

const call = toolCallPart(toolCallId('c1'), 'weather', { town: 'Bath' });
const items: readonly Item[] = [
  { id: itemId('1'), kind: 'system', parts: [{ kind: 'text', text: 'Be brief.' }] },
  { id: itemId('2'), kind: 'user', parts: [{ kind: 'text', text: 'Will it rain in Bath?' }] },
  { id: itemId('3'), kind: 'assistant', parts: [call] },
  {
    id: itemId('4'),
    kind: 'tool',
    parts: [
      {
        kind: 'tool_result',
        toolCallId: call.toolCallId,
        name: 'weather',
        text: 'rain',
        isError: false,
      },
    ],
  },
];

test('the body has the whole conversation, in order', async () => {
  const provider = ${camel}({ model: '${kebab}-1', apiKey: 'key' });
  const text = JSON.stringify(provider.describe?.({ items }).body);
  const positions = ['Be brief.', 'Will it rain', 'Bath', 'rain'].map((part) => text.indexOf(part));
  expect(positions).not.toContain(-1);
  expect(text).toContain('weather');
});
`;
