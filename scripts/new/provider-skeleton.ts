import type { Names, Skeleton } from './skeleton.ts';

/** A provider that streams over HTTP: options, request, stream, and the conformance suite. */
export function providerSkeleton(names: Names): Skeleton {
  const folder = `packages/providers/src/${names.kebab}`;
  return {
    folder,
    test: folder,
    guide: 'docs/extend/provider.md',
    files: {
      [`${folder}/options.ts`]: optionsFile(names),
      [`${folder}/request.ts`]: requestFile(names),
      [`${folder}/stream.ts`]: streamFile(names),
      [`${folder}/provider.ts`]: providerFile(names),
      [`${folder}/conformance.test.ts`]: testFile(names),
    },
    steps: [
      `request.ts: the address, and the body that the API expects`,
      `stream.ts: the messages of the stream to deltas`,
      `conformance.test.ts: what the API sends for an answer`,
      `packages/providers/src/index.ts: export ${names.camel} and ${names.pascal}Options`,
    ],
  };
}

const optionsFile = ({
  pascal,
  camel,
}: Names) => `import type { ApiOptions } from '../wire/api-options.ts';

/** Options of \`${camel}\`. */
export interface ${pascal}Options extends ApiOptions {}
`;

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
import { type Endpoint, httpRequestTo, unknownEndpoint } from '../wire/endpoint.ts';
import type { ${pascal}Options } from './options.ts';

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
    messages: messages.map(messageBody),
    ...request.providerOptions,
  });
}

/** Converts a message to the format of the API. */
function messageBody(message: Message): JsonObject {
  throw new Error(\`Not written yet: the body of a message of the role \${message.role}\`);
}
`;

const streamFile = ({ pascal }: Names) => `import type {
  DeltaWriter,
  JsonObject,
  JsonValue,
  ReasoningWriter,
  Stop,
  TextWriter,
  Usage,
} from '@millrace/core';
import { stopOf } from '../wire/response-end.ts';
import type { ReaderContext, ResponseDetails, WireReader } from '../wire/wire.ts';

/** The stop reasons of the API, in our terms. */
const stopReasons = { stop: 'stop', length: 'length', tool_calls: 'tool_use' } as const;

/** Reads one response: messages in, deltas to the writer. */
export class ${pascal}Reader implements WireReader {
  progress: 'reading' | 'done' | 'over' = 'reading';
  readonly #writer: DeltaWriter;
  /** The open parts. A part is created when its first piece arrives. */
  #reasoning: ReasoningWriter | undefined;
  #text: TextWriter | undefined;
  #hasCalls = false;
  #reason = '';
  #usage: Usage | undefined;

  constructor({ writer }: ReaderContext) {
    this.#writer = writer;
  }

  get details(): ResponseDetails {
    return { usage: this.#usage };
  }

  /**
   * Reads one message. Replace this format, { text, reasoning, stop_reason }, by the format of the API.
   * Write a whole call with \`this.#writer.whole(…)\`, or a streamed one with \`this.#writer.toolCall(…)\`.
   * Throw \`fault('overloaded', …)\` of ../errors/wire-fault.ts for an error in the stream.
   */
  readMessage(data: JsonObject): void {
    const { text, reasoning, stop_reason: reason } = data;
    if (typeof reasoning === 'string') this.#appendReasoning(reasoning);
    if (typeof text === 'string') this.#appendText(text);
    if (typeof reason !== 'string') return;
    this.#reason = reason;
    this.progress = 'over';
  }

  /** Reads an answer of a server that does not stream. */
  readWholeBody(body: JsonValue): void {
    throw new Error(\`Not written yet: a whole answer (\${typeof body})\`);
  }

  finish(): Stop {
    this.#reasoning?.commit();
    this.#text?.commit();
    return stopOf(this.#reason, stopReasons, this.#hasCalls);
  }

  #appendText(text: string): void {
    this.#text ??= this.#writer.text();
    this.#text.append(text);
  }

  #appendReasoning(text: string): void {
    this.#reasoning ??= this.#writer.reasoning();
    this.#reasoning.append(text);
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
import type { ${pascal}Options } from './options.ts';
import { ${camel}Request, providerId } from './request.ts';
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

/** What the API sends for an answer, event by event. The last block stays open unless it ends whole. */
function eventsOf(answer: ConformanceAnswer): readonly object[] {
  throw new Error(\`Not written yet: the events of \${JSON.stringify(answer)}\`);
}

/** Sends each event in a read of its own, then closes, or stalls until the request is cancelled. */
function bodyOf(answer: ConformanceAnswer): ReadableStream<Uint8Array> {
  const reads = eventsOf(answer).map((event) => new TextEncoder().encode(sseOf([event])));
  return new ReadableStream(
    {
      pull: (stream) => {
        const next = reads.shift();
        if (next !== undefined) stream.enqueue(next);
        else if (answer.ends === 'stall') return new Promise(() => {});
        else stream.close();
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

const headers = { 'content-type': 'text/event-stream' };
const subject: ConformanceSubject = {
  provider: (answer) =>
    ${camel}({
      model: '${kebab}-1',
      apiKey: 'key',
      fetch: async () => new Response(bodyOf(answer), { headers }),
    }),
};

describe('${kebab} passes the conformance suite', () => {
  test.each(conformanceCases(subject))('$name', ({ run }) => run());
});
`;
