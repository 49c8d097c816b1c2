import type { JsonObject } from '@millrace/core';
import { expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { helloItems } from '../testing/hello-items.ts';

// A hostile provider sends thousands of small events that each add a source. Each event made the log grow by all
// sources until now.

type Fetch = typeof fetch;

const url = (at: number) => `https://example.com/${at}`;
const gaps = { url_citation: { url: url(0), title: 't', start_index: 0, end_index: 1 } };

function geminiEvent(at: number, part: JsonObject): JsonObject {
  const groundingMetadata = {
    webSearchQueries: [`query ${at}`],
    groundingChunks: [{ web: { uri: url(at), title: 't' } }],
    groundingSupports: [{ segment: { endIndex: 1, text: 'a' }, groundingChunkIndices: [at] }],
  };
  const content = { role: 'model', parts: [part] };
  return { candidates: [{ index: 0, content, groundingMetadata }] };
}

const chatChunk = (delta: JsonObject) => ({ id: 'x', model: 'm', choices: [{ index: 0, delta }] });
const chatCitation = (at: number) =>
  chatChunk({
    annotations: [{ type: 'url_citation', url_citation: { ...gaps.url_citation, url: url(at) } }],
  });

const anthropicCitation = (at: number) => ({
  ...{ type: 'content_block_delta', index: 0 },
  delta: { type: 'citations_delta', citation: { type: 'char_location', document_index: at } },
});
const message = { id: 'x', model: 'm', type: 'message', role: 'assistant', content: [] };

const annotation = (at: number) => ({
  ...{ type: 'response.output_text.annotation.added', output_index: 0, item_id: 'm' },
  ...{ content_index: 0, annotation_index: at },
  annotation: { type: 'url_citation', url: url(at), title: 't', start_index: 0, end_index: 1 },
});
const item = { type: 'message', id: 'm', role: 'assistant', status: 'in_progress', content: [] };
const place = { output_index: 0, item_id: 'm', content_index: 0 };

const options = { model: 'm', apiKey: 'k', baseUrl: 'http://localhost:9' };

/** The providers, the first events of an answer, and the event with a source. */
const wires: readonly (readonly [
  string,
  (fetch: Fetch) => Provider,
  readonly JsonObject[],
  (at: number) => JsonObject,
])[] = [
  ['Gemini', (fetch) => gemini({ ...options, fetch }), [], (at) => geminiEvent(at, { text: 'a' })],
  [
    'Gemini, in many texts',
    (fetch) => gemini({ ...options, fetch }),
    [],
    (at) => geminiEvent(at, at % 2 === 0 ? { text: 'a' } : { text: 'b', thought: true }),
  ],
  [
    'Chat',
    (fetch) => openaiChat({ ...options, fetch }),
    [chatChunk({ content: 'a' })],
    chatCitation,
  ],
  [
    'Messages',
    (fetch) => anthropic({ ...options, fetch }),
    [
      { type: 'message_start', message: { ...message, usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'a' } },
    ],
    anthropicCitation,
  ],
  [
    'Responses',
    (fetch) => openaiResponses({ ...options, fetch }),
    [
      { type: 'response.created', response: { id: 'r', model: 'm', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.content_part.added', ...place, part: { type: 'output_text', text: '' } },
      { type: 'response.output_text.delta', ...place, delta: 'a' },
    ],
    annotation,
  ],
];

test.each(wires)(
  '18.816: attack: many small sources fill the log (%s)',
  async (_name, open, first, source) => {
    const events = [...first, ...Array.from({ length: 4000 }, (_, at) => source(at))];
    const lineOf = (event: JsonObject) =>
      `${event['type'] === undefined ? '' : `event: ${event['type']}\n`}data: ${JSON.stringify(event)}\n\n`;
    const body = events.map(lineOf).join('');
    const headers = { 'content-type': 'text/event-stream' };
    const provider = open(async () => new Response(body, { headers }));
    let written = 0;
    let writes = 0;
    const onStep = ({ deltas }: StreamStep) => {
      for (const delta of deltas.filter(({ type }) => type === 'set_metadata')) {
        writes++;
        written += JSON.stringify(delta).length;
      }
    };
    await provider.complete({ items: helloItems }, { onStep });
    expect(writes).toBeGreaterThan(0);
    expect(written).toBeLessThan(6 * 2 ** 20);
  },
);
