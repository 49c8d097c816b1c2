import { describe, expect, test } from 'vitest';
import { hasSharedRecordings, recordingsOf, type Wire, wires } from '../recordings.ts';
import { readers } from '../wire-table.ts';
import type { Expected } from './expected.ts';

const whole = { isWhole: true };
const tide = { name: 'get_tide', value: { port: 'Brest' }, ...whole };
const wind = { name: 'get_wind', value: { area: 'Biscay' }, ...whole };
const used = (input: number, output: number, cacheRead = 0, reasoning = 0, cacheWrite = 0) => ({
  usage: { input, output, cacheRead, cacheWrite, reasoning },
});

const brestTide = 'https://tides.example.org/brest?utm_source=openai';
const shom = 'https://shom.example.fr/';

/** Matches a line that ends a response. */
const terminal: Readonly<Record<Wire, RegExp>> = {
  'openai-chat': /"finish_reason": ?"/,
  'openai-responses': /"type": ?"response\.(?:completed|incomplete)"/,
  anthropic: /"type": ?"message_stop"/,
  gemini: /"finishReason": ?"|"blockReason"/,
};

type Row = readonly [name: string, expected: object];

function read(wire: Wire, name: string, origin: 'shared' | 'own'): readonly Expected[] {
  const found = recordingsOf(wire).find((one) => one.name === name && one.origin === origin);
  if (found === undefined) throw new Error(`There is no ${origin} recording ${wire}/${name}`);
  return found.responses.map((lines) => readers[wire](lines));
}

/** Results that were worked out by hand from the files. */
const ours: Readonly<Record<Wire, readonly Row[]>> = {
  'openai-chat': [
    ['usage-trailing-chunk', { texts: 'The tide turns at six.', ...used(41, 6, 32) }],
    ['usage-on-finish-chunk', used(19, 3)],
    ['usage-xai-reasoning-excluded', used(120, 211, 100, 200)],
    ['usage-xai-cached-over-prompt', used(73, 2, 64)],
    ['usage-deepseek-cache-hit', used(210, 4, 192)],
    ['usage-x-groq', used(52, 5)],
    ['usage-moonshot-choice', used(33, 7)],
    ['usage-perplexity-cumulative', used(14, 8)],
    ['usage-mistral-num-cached', used(88, 3, 80)],
    ['usage-reasoning-included', used(25, 40, 0, 37)],
    ['e01-no-index', { calls: [tide, { value: { port: 'Ostend' } }] }],
    ['e01-no-index-by-id', { calls: [tide, wind] }],
    ['e02-index-from-one', { calls: [tide] }],
    ['e02-index-gaps', { calls: [tide, wind] }],
    ['e03-all-index-zero', { calls: [tide, wind, { ...tide, value: { port: 'Ostend' } }] }],
    ['e04-id-changes-no-name', { calls: [{ ...tide, id: 'call_first0001' }] }],
    ['e05-id-on-every-chunk', { calls: [tide] }],
    ['e06-empty-id-and-name', { calls: [{ ...tide, id: 'call_9b1f6e0a44c2' }] }],
    ['e07-id-missing', { calls: [tide] }],
    ['e07-id-later', { calls: [{ ...tide, id: 'chatcmpl-tool-5d0c' }] }],
    ['bad-e07-name-and-id-lost', { ends: 'error', calls: [{ isWhole: false }] }],
    ['e08-name-later', { calls: [{ ...tide, id: 'call_late00name' }] }],
    ['e09-name-split', { calls: [tide] }],
    ['e09-name-repeated', { calls: [tide] }],
    ['e10-no-ids-no-index', { calls: [tide, wind], stop: 'tool_use', rawStop: 'stop' }],
    ['e10-no-ids-same-name', { calls: [tide, { ...tide, value: { port: 'Ostend' } }] }],
    ['e11-empty-arguments', { calls: [{ arguments: '', value: {}, ...whole }] }],
    ['e12-empty-object-first', { calls: [{ ...tide, arguments: '{"port":"Brest"}' }] }],
    ['e13-repeated-whole', { calls: [{ ...tide, arguments: '{"port":"Brest"}' }] }],
    ['e13-repeated-double-encoded', { calls: [{ ...tide, arguments: '{"port":"Brest"}' }] }],
    ['e14-object-arguments', { calls: [{ value: { port: 'Brest', days: 2 }, ...whole }] }],
    ['e14-null-arguments', { calls: [tide] }],
    ['e15-whole-call-with-finish', { texts: 'Looking. ', calls: [tide] }],
    ['e16-two-finishes', { calls: [tide], ...used(77, 12) }],
    ['e17-same-call-twice', { calls: [whole, whole] }],
    ['e18-calls-without-ids', { calls: [whole, whole] }],
    ['e19-equal-deltas', { texts: 'hahaha', reasoning: 'tick tick ' }],
    ['e20-several-choices', { texts: 'right one', stop: 'length' }],
    ['e21-sparse-chunks', { texts: 'Ebb tide', stop: 'stop' }],
    ['e22-odd-fields', { texts: 'Flood tide', calls: [], stop: 'stop' }],
    ['bad-e24-empty', { ends: 'truncated', usage: undefined }],
    ['bad-e24-only-usage', { ends: 'truncated', ...used(12, 0) }],
    ['e24-only-reasoning-length', { stop: 'length', texts: '', ...used(20, 64, 0, 64) }],
    ['bad-e25-cut-mid-call', { ends: 'truncated', texts: 'Checking.', stop: 'error' }],
    ['bad-e25-cut-after-whole-call', { ends: 'truncated', calls: [{ isWhole: false }] }],
    ['e26-invalid-arguments', { stop: 'tool_use', calls: [{ isWhole: false }, wind] }],
    ['e26-unlike-objects', { calls: [{ isWhole: false }] }],
    ['e27-split-surrogates', { texts: 'Boat ⛵ and 🚢', reasoning: 'wave 🌊!' }],
    ['e27-lone-surrogate', { texts: 'half \ufffd' }],
    ['interleaved-calls', { calls: [tide, wind] }],
    ['id-and-index-reused', { calls: [{ ...tide, id: 'call_same' }, wind] }],
    ['named-tool-choice-stop', { stop: 'tool_use', rawStop: 'stop' }],
    ['length-mid-call', { stop: 'length', calls: [{ isWhole: false }] }],
    ['tool-calls-without-call', { stop: 'stop', mayFail: true }],
    ['function-call-deprecated', { calls: [tide], stop: 'tool_use' }],
    ['gemini-compat-signature', { signed: [{ on: 'get_tide' }], calls: [tide, wind] }],
    ['unknown-finish', { stop: 'unknown', rawStop: 'tired' }],
    ['content-filter-with-call', { stop: 'content_filter' }],
    ['mistral-thinking-array', { texts: 'Twice a day.', reasoning: 'Two tides a day.' }],
    ['openrouter-reasoning-details', { reasoning: 'The moon pulls.', texts: 'It is the moon.' }],
    ['reasoning-two-fields', { reasoning: 'Same words' }],
    ['reasoning-text-field', { reasoning: 'Hm, tides.' }],
    ['refusal', { refusal: 'I cannot help with that.', texts: '', stop: 'refusal' }],
    ['audio', { transcript: 'High water.', texts: '' }],
    ['images', { media: [{ mimeType: 'image/png' }], texts: 'A lighthouse:' }],
    [
      'citations-annotations',
      { citations: ['https://tides.example.org/brest', expect.any(String)] },
    ],
    ['comment-payload', { texts: 'Ebb.', stop: 'stop' }],
    ['whitespace-text', { texts: ' \n\nx\u2028y\t' }],
    ['bad-error-mid-stream', { ends: 'error', texts: 'The ti' }],
    ['bad-finish-error', { ends: 'terminal', stop: 'error', mayFail: true }],
    ['bad-not-json', { ends: 'error', texts: 'The' }],
  ],
  'openai-responses': [
    ['text', { texts: 'High water at six.', ...used(30, 8, 16) }],
    ['phases', { texts: 'Let me look.At six.' }],
    ['interleaved-calls', { calls: [tide, wind] }],
    ['id-rotation', { calls: [tide], texts: 'One moment.', reasoning: 'Needs the tide.' }],
    ['arguments-only-in-done', { calls: [tide] }],
    ['arguments-only-in-item-done', { calls: [tide] }],
    ['arguments-only-in-completed', { calls: [tide] }],
    ['all-only-in-completed', { calls: [wind], texts: 'At six.' }],
    ['completed-output-empty', { calls: [tide], texts: 'At six.', stop: 'tool_use' }],
    ['text-longer-in-done', { texts: 'High water at six.' }],
    ['reasoning-encrypted-differs', { reasoning: '**Tides** Think.**Again**' }],
    ['reasoning-text', { reasoning: 'Tide question.' }],
    ['reasoning-interleaved', { order: ['reasoning', 'text', 'reasoning', 'call'] }],
    ['refusal', { refusal: 'I cannot help with that.', stop: 'refusal' }],
    ['web-search-with-citations', { hosted: ['web_search_call'], citations: [brestTide, shom] }],
    ['image-generation', { hosted: ['image_generation_call'], media: [{ mimeType: 'image/png' }] }],
    ['custom-tool-call', { calls: [{ name: 'write_sql', isText: true, ...whole }] }],
    ['parallel-wrapper', { calls: [{ name: 'parallel', wraps: [tide, wind].map(unwrapped) }] }],
    ['incomplete-mid-call', { stop: 'length', calls: [{ isWhole: false }] }],
    ['incomplete-content-filter', { stop: 'content_filter' }],
    ['e26-invalid-arguments', { stop: 'tool_use', calls: [{ isWhole: false }] }],
    ['e27-split-surrogates', { texts: 'Boat 🚢 out', calls: [{ value: { port: '🐟' } }] }],
    ['unknown-events', { texts: 'Six.', others: ['hologram'], hosted: [] }],
    ['mcp-call', { hosted: ['mcp_call'], calls: [], stop: 'stop' }],
    ['bad-error-then-failed', { ends: 'error' }],
    ['bad-failed-with-usage', { ends: 'error', texts: 'High', ...used(40, 3) }],
    ['bad-completed-without-item-done', { ends: 'truncated', calls: [{ isWhole: false }] }],
    ['bad-no-terminal', { ends: 'truncated', texts: 'At six.', calls: [{ isWhole: false }] }],
    ['bad-chat-chunks', { ends: 'error' }],
  ],
  anthropic: [
    ['interleaved-tool-calls', { calls: [tide, wind], texts: 'Both at once.' }],
    ['redacted-thinking', { reasoning: '', state: [expect.stringMatching(/^.{240}$/)] }],
    ['thinking-then-tool', { signed: [{ on: 'The user wants the tide.' }], calls: [tide] }],
    ['interleaved-thinking', { order: ['reasoning', 'text', 'reasoning', 'text', 'call'] }],
    ['thinking-without-text', { reasoning: '', signed: [{ on: '' }] }],
    ['signature-on-text', { signed: [], state: [] }],
    ['whole-in-message-start', { calls: [tide], stop: 'tool_use' }],
    ['mcp-tool-use', { hosted: ['mcp_tool_use', 'mcp_tool_result'], calls: [], ...used(1190, 70) }],
    ['web-search-with-citations', { citations: ['https://tides.example.org/brest'] }],
    ['pause-turn', { stop: 'pause', hosted: ['server_tool_use', 'web_search_tool_result'] }],
    ['input-at-start', { calls: [{ value: { port: 'Brest', days: 2 }, ...whole }] }],
    ['no-arguments', { calls: [{ arguments: '', value: {}, ...whole }] }],
    ['usage-raised', used(271, 12, 200, 0, 10)],
    ['usage-compaction', { ...used(203_000, 4500), others: ['compaction'] }],
    ['refusal-without-blocks', { stop: 'refusal', refusal: 'Blocked by policy.', texts: '' }],
    ['max-tokens-mid-call', { stop: 'length', calls: [{ isWhole: false }] }],
    ['context-window-exceeded', { stop: 'length' }],
    ['unknown-stop-reason', { stop: 'unknown', rawStop: 'tired' }],
    ['unknown-events', { texts: 'Six.', others: ['hologram'], hosted: [] }],
    ['duplicate-message-start', { texts: 'Once.', ...used(17, 4) }],
    ['text-at-start', { texts: 'High water.' }],
    ['e26-invalid-arguments', { stop: 'tool_use', calls: [{ isWhole: false }] }],
    ['e27-split-surrogates', { texts: 'Boat 🚢 out', reasoning: 'wave 🌊' }],
    ['bad-error-mid-stream', { ends: 'error', texts: 'High wa' }],
    ['bad-spliced-message-start', { ends: 'error', texts: 'High' }],
    ['bad-no-message-stop', { ends: 'truncated', rawStop: 'end_turn' }],
    ['bad-cut-mid-thinking', { ends: 'truncated', state: [] }],
  ],
  gemini: [
    ['text', { texts: 'High water at six.', ...used(8, 6) }],
    [
      'trailing-signature',
      { texts: 'It is the moon.', signed: [{ on: '' }], ...used(9, 88, 0, 80) },
    ],
    ['thoughts-and-text', { reasoning: '**Tides**\nThe moon pulls.' }],
    ['function-call-signed', { calls: [tide], stop: 'tool_use', signed: [{ on: 'get_tide' }] }],
    ['parallel-calls', { calls: [tide, wind, { ...tide, value: { port: 'Ostend' } }] }],
    ['calls-with-ids', { calls: [{ id: 'a1b2c3d4' }, { id: 'e5f6a7b8' }] }],
    ['no-args', { calls: [{ value: {}, ...whole }] }],
    ['args-as-string', { calls: [tide] }],
    ['call-repeated-unsigned', { calls: [tide] }],
    ['e17-same-call-twice', { calls: [whole, whole] }],
    ['prompt-blocked', { stop: 'content_filter', rawStop: 'PROHIBITED_CONTENT', ...used(9, 0) }],
    ['safety', { stop: 'content_filter', texts: 'The recipe' }],
    ['max-tokens-with-call', { stop: 'length' }],
    ['finish-other', { stop: 'unknown' }],
    ['sparse-events', { texts: '  \nEbb.', usage: undefined, others: ['hologram'] }],
    ['usage-merged', used(26, 32, 16, 30)],
    ['citations', { citations: ['https://tides.example.org/brest', 'https://shom.example.fr/'] }],
    ['inline-image', { media: [{ mimeType: 'image/png' }] }],
    ['code-execution', { hosted: ['executableCode', 'codeExecutionResult'], stop: 'stop' }],
    ['several-candidates', { texts: 'right one' }],
    ['vertex-arguments', { calls: [{ value: everyKind() }, wind] }],
    ['vertex-nested-paths', { calls: [{ value: plan(), ...whole }] }],
    ['vertex-missing-end', { calls: [{ value: { items: items() }, ...whole }], stop: 'tool_use' }],
    ['vertex-no-arguments', { calls: [{ value: {}, ...whole }] }],
    ['vertex-split-surrogate', { calls: [{ value: { what: '🐟' } }] }],
    ['bad-malformed-function-call', { stop: 'error', ends: 'terminal', mayFail: true }],
    ['bad-error-mid-stream', { ends: 'error', texts: 'High wa' }],
    ['bad-cut-after-call', { ends: 'truncated', calls: [{ isWhole: false }], state: [] }],
  ],
};

const real: Readonly<Record<Wire, readonly Row[]>> = {
  'openai-chat': [
    [
      'alibaba-tool-call',
      { calls: [{ id: 'call_eee11723464a4b9eb8cee71d', ...whole }], ...used(295, 22) },
    ],
    ['deepseek-tool-call', { ...used(339, 83, 320, 39), stop: 'tool_use' }],
    ['groq-tool-call', { calls: [{ arguments: '{}', id: 'tk85n1k4m' }], ...used(210, 15) }],
    ['mistral-text', { texts: 'Hello, world! This is a test response.', ...used(13, 8) }],
    ['mistral-tool-call', { calls: [{ value: { location: 'San Francisco' } }] }],
    ['moonshotai-stream', { reasoning: 'Thinking aloud. ', texts: 'Hello!', ...used(9, 12, 0, 7) }],
    ['openai-text', { texts: expect.stringMatching(/^\*\*Holiday Name:\*\*.* respect\.$/s) }],
    ['perplexity-text', { texts: '**EcoVista Day**[1][5]', ...used(11, 434) }],
  ],
  'openai-responses': [
    ['azure-text.1', { texts: 'Hello', stop: 'stop' }],
    ['azure-tool-call.1', { calls: [{ id: 'call_H5DxLSFnsGhiROnUiDHmgyc8' }], stop: 'tool_use' }],
    ['openai-image-generation-tool.1', { media: [{ mimeType: 'image/webp' }], texts: '' }],
    [
      'openai-mcp-tool-approval.1',
      { hosted: ['mcp_list_tools'], calls: [{ name: 'mcp_approval', ...whole }], stop: 'tool_use' },
    ],
    [
      'openai-phase.1',
      { texts: expect.stringMatching(/^Got it — .* with links\.Here are a few /s) },
    ],
    ['xai-web-search-tool.1', { hosted: ['web_search_call'], ...used(1875, 695, 1578, 397) }],
  ],
  anthropic: [
    ['anthropic-clear-thinking.1', { texts: '925 ÷ 5 = 185', ...used(69, 53) }],
    ['anthropic-json-tool.1', { calls: [{ name: 'json', ...whole }], stop: 'tool_use' }],
    ['anthropic-tool-no-args', { calls: [{ arguments: '', value: {}, ...whole }] }],
    ['anthropic-web-fetch-tool.1', { hosted: ['server_tool_use', 'web_fetch_tool_result'] }],
    ['duplicate-message-start', { texts: 'Hello, World!', ...used(17, 227) }],
  ],
  gemini: [
    ['google-text', { ...used(9, 208, 0, 185), signed: [{ on: '' }] }],
    ['google-tool-call', { calls: [{ value: { location: 'San Francisco' } }], stop: 'tool_use' }],
    [
      'google-stream-tool-call-arguments',
      { calls: [{ value: { location: 'Boston' } }, { value: { location: 'San Francisco' } }] },
    ],
  ],
};

function unwrapped({ name, value }: { readonly name: string; readonly value: object }) {
  return { name, value };
}

function everyKind(): object {
  return { port: 'Brest', days: 2, metric: true, note: null };
}

function plan(): object {
  const legs = [
    { from: 'Brest', hours: 7.5 },
    { from: 'Ostend', stops: ['Dover', 'Calais'] },
  ];
  return { legs, crew: { skipper: { name: 'Ada' } } };
}

function items(): readonly object[] {
  return [
    { name: 'rope', price: 0.5 },
    { name: 'oar', price: 0.3 },
  ];
}

describe.each(wires)('the oracle of %s', (wire) => {
  test.each(ours[wire])('reads the content of the fixture %s', (name, expected) => {
    expect(read(wire, name, 'own')).toMatchObject([expected]);
  });

  test.skipIf(!hasSharedRecordings).each(real[wire])('reads what is in %s', (name, expected) => {
    expect(read(wire, name, 'shared')).toMatchObject([expected]);
  });

  test('treats a response as complete from its terminal event on, not earlier', () => {
    // Several choices end separately, and only the first counts.
    const simple = recordingsOf(wire).filter(({ name }) => !/^bad-|several/.test(name));
    for (const { name, responses } of simple) {
      for (const lines of responses) {
        const endings = lines.map((_, index) => readers[wire](lines.slice(0, index + 1)).ends);
        const end = lines.findIndex((line) => terminal[wire].test(line));
        const expected = lines.map((_, index) => (index < end ? 'truncated' : 'terminal'));
        expect({ name, endings }).toEqual({ name, endings: expected });
      }
    }
  });

  test('treats __proto__ and escaped keys in arguments as data', () => {
    const [expected] = read(wire, 'e29-proto-arguments', 'own');
    const value = Object.entries(expected?.calls[0]?.value ?? {});
    expect(value[0]).toEqual(['__proto__', { admin: true }]);
    expect(value.map(([key]) => key)).toContain('ab');
  });
});
