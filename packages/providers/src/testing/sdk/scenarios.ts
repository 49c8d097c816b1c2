import {
  type Item,
  type ItemKind,
  itemId,
  type JsonObject,
  type Part,
  type ToolResultPart,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type {
  ModelRequest,
  ReasoningEffort,
  ToolChoice,
  ToolDefinition,
} from '../../contract/model-request.ts';

/** A request that every wire must be able to send. */
export interface Scenario {
  readonly name: string;
  readonly request: ModelRequest;
}

const text = (words: string): Part => ({ kind: 'text', text: words });

let count = 0;
const item = (kind: ItemKind, ...parts: readonly Part[]): Item => ({
  id: itemId(`scenario${++count}`),
  kind,
  parts,
});
const user = (words: string, ...more: readonly Part[]) => item('user', text(words), ...more);
const call = (id: string, name = 'get_tide') =>
  toolCallPart(toolCallId(id), name, { port: 'Brest' });
const result = (id: string, words: string, more: Partial<ToolResultPart> = {}): Part => ({
  kind: 'tool_result',
  toolCallId: toolCallId(id),
  name: 'get_tide',
  text: words,
  isError: false,
  ...more,
});

const bytes = (...data: readonly number[]) =>
  ({ type: 'bytes', bytes: Uint8Array.from(data) }) as const;
const url = (address: string) => ({ type: 'url', url: address }) as const;

const media = {
  png: { kind: 'media', mimeType: 'image/png', source: bytes(1, 2, 3) },
  jpg: { kind: 'media', mimeType: 'image/jpg', source: bytes(1, 2, 3) },
  gif: { kind: 'media', mimeType: 'image/gif', source: bytes(1, 2, 3) },
  webpUrl: { kind: 'media', mimeType: 'image/webp', source: url('https://example.com/a.webp') },
  heic: { kind: 'media', mimeType: 'image/heic', source: bytes(1, 2, 3) },
  mp3: { kind: 'media', mimeType: 'audio/mpeg', source: bytes(1, 2, 3) },
  wav: { kind: 'media', mimeType: 'audio/wav', source: bytes(1, 2, 3) },
  mp4: { kind: 'media', mimeType: 'video/mp4', source: bytes(1, 2, 3) },
  pdf: { kind: 'file', name: 'a.pdf', mimeType: 'application/pdf', source: bytes(1, 2, 3) },
  pdfUrl: {
    kind: 'file',
    name: 'a.pdf',
    mimeType: 'application/pdf',
    source: url('https://example.com/a.pdf'),
  },
  csv: { kind: 'file', name: 'a.csv', mimeType: 'text/csv', source: bytes(97, 44, 98) },
  emptyText: { kind: 'file', name: 'a.txt', mimeType: 'text/plain', source: bytes() },
  textUrl: {
    kind: 'file',
    name: 'a.txt',
    mimeType: 'text/plain',
    source: url('https://example.com/a.txt'),
  },
  zip: { kind: 'file', name: 'a.zip', mimeType: 'application/zip', source: bytes(1, 2, 3) },
} as const satisfies Readonly<Record<string, Part>>;

/** For each provider, one stored file of each kind. */
const storedFiles = ['openai', 'azure', 'anthropic', 'gemini', 'vertex'].flatMap((provider) => {
  const source = {
    type: 'provider_file',
    provider,
    id: `https://example.com/${provider}`,
  } as const;
  return [media.png, media.pdf, media.csv, media.mp4].map((part) => ({ ...part, source }));
});

const tideSchema: JsonObject = {
  type: 'object',
  properties: {
    port: { type: 'string', description: 'The port' },
    day: { type: 'string', enum: ['today', 'tomorrow'] },
    heights: { type: 'array', items: { type: 'number', minimum: 0 } },
  },
  required: ['port'],
};
const tools: readonly ToolDefinition[] = [
  { name: 'get_tide', description: 'Tells the tide', inputSchema: tideSchema },
  { name: 'get_wind', inputSchema: { type: 'object', properties: {} }, strict: true },
  { name: 'list_ports', inputSchema: tideSchema, strict: true },
  { name: 'open_file', inputSchema: { type: 'object', additionalProperties: true }, strict: false },
];
const output = {
  name: 'answer',
  schema: {
    type: 'object',
    properties: {
      times: { type: 'array', items: tideSchema },
      note: { type: 'string' },
    },
    required: ['times'],
  },
};
/** A schema that no provider can enforce. */
const looseOutput = { name: 'anything', schema: { type: 'object', additionalProperties: true } };

const called = (...results: readonly Part[]): readonly Item[] => [
  user('Tide?'),
  item('assistant', text('Looking.'), call('call_1'), call('call_2')),
  item('tool', ...results),
];
const answered = called(result('call_1', 'six'), result('call_2', 'seven'));

const foreignReasoning: Part = {
  kind: 'reasoning',
  form: 'full',
  text: 'Hm.',
  signature: 'c2ln',
  providerState: { provider: 'other', model: 'other', data: { a: 1 } },
};

const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'max'];
const choices: readonly (readonly [string, ToolChoice])[] = [
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  ['a name', { name: 'get_tide' }],
];

const conversations: readonly Scenario[] = [
  { name: 'text', request: { items: [user('Tide?')] } },
  {
    name: 'instructions',
    request: {
      items: [item('system', text('Be brief.')), item('developer', text('Metric.')), user('Tide?')],
    },
  },
  {
    name: 'instructions inside of the conversation',
    request: {
      items: [
        item('system', text('Be brief.')),
        user('Tide?'),
        item('assistant', text('At six. ')),
        item('system', text('Answer again.')),
      ],
    },
  },
  {
    name: 'a conversation that starts and ends with the assistant',
    request: {
      items: [item('assistant', text('Hello.')), user('Tide?'), item('assistant', text('At '))],
    },
  },
  {
    name: 'notifications and context',
    request: {
      items: [
        item('context', text('It is noon.')),
        user('Tide?'),
        item('notification', text('Done.')),
      ],
    },
  },
  { name: 'results', request: { items: answered, tools } },
  { name: 'results without tools', request: { items: [...answered, user('And?')] } },
  {
    name: 'results that are errors or empty',
    request: {
      items: called(result('call_1', '', { isError: true }), result('call_2', '')),
      tools,
    },
  },
  { name: 'a call without a result', request: { items: called(result('call_1', 'six')), tools } },
  {
    name: 'results with attachments',
    request: {
      items: called(
        result('call_1', 'See.', { attachments: [media.png, media.csv] }),
        result('call_2', '', { attachments: [media.pdf, media.webpUrl, media.zip] }),
      ),
      tools,
    },
  },
  {
    name: 'files of providers',
    request: {
      items: [
        user('See.', ...storedFiles),
        ...called(result('call_1', 'See.', { attachments: storedFiles }), result('call_2', '')),
      ],
      tools,
    },
  },
  {
    name: 'history of another model',
    request: {
      items: [
        user('Draw it.'),
        item('assistant', foreignReasoning, text('Here.'), media.png, media.zip, call('call_1')),
        item('tool', result('call_1', 'six')),
        item('assistant', { kind: 'structured', value: { a: 1 } }),
        item(
          'assistant',
          { kind: 'custom', name: 'web_search', value: { type: 'x' } },
          text('Done.'),
        ),
        user('Thanks.'),
      ],
    },
  },
];

const options: readonly Scenario[] = [
  {
    name: 'limits and sampling',
    request: { items: [user('Tide?')], maxOutputTokens: 2000, temperature: 0.5, topP: 0.9 },
  },
  { name: 'a sampling probability', request: { items: [user('Tide?')], topP: 0.9 } },
  { name: 'output', request: { items: [user('Tide?')], output } },
  {
    name: 'output that cannot be enforced',
    request: { items: [user('Tide?')], output: looseOutput },
  },
  {
    name: 'output that is not strict',
    request: { items: [user('Tide?')], output: { ...output, strict: false } },
  },
  { name: 'output and tools', request: { items: answered, tools, output } },
  {
    name: 'output, tools, reasoning and cache',
    request: {
      items: answered,
      tools,
      output,
      reasoning: 'high',
      cache: { upTo: answered.map(({ id }) => id), longLived: true, key: 'session-1' },
    },
  },
  {
    name: 'more cache hints than there can be',
    request: {
      items: [
        item('system', text('Be brief.')),
        ...Array.from({ length: 9 }, (_, nth) => user(`Tide ${nth}?`)),
      ],
      cache: { upTo: Array.from({ length: 20 }, (_, nth) => itemId(`scenario${count - nth}`)) },
    },
  },
];

/** All scenarios. Each wire sends each of them. */
export const scenarios: readonly Scenario[] = [
  ...conversations,
  ...options,
  ...Object.entries(media).map(([name, part]) => ({
    name: `an attachment: ${name}`,
    request: { items: [user('See.', part)] },
  })),
  ...choices.map(([name, toolChoice]) => ({
    name: `tools, tool choice ${name}`,
    request: { items: [user('Tide?')], tools, toolChoice },
  })),
  ...efforts.flatMap((reasoning) => [
    { name: `reasoning ${reasoning}`, request: { items: [user('Tide?')], reasoning } },
    {
      name: `reasoning ${reasoning} with a forced tool`,
      request: { items: answered, tools, toolChoice: 'required' as const, reasoning },
    },
  ]),
];

/** A scenario for all wires except Responses, which has no stop sequences and refuses them. */
export const stopSequences: Scenario = {
  name: 'stop sequences',
  request: { items: [user('Tide?')], stopSequences: ['END'] },
};
