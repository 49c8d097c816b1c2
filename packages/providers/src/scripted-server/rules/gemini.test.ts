import { describe, expect, test } from 'vitest';
import { all, drop, insert, put, testEachFault } from '../../testing/fault-tests.ts';
import { type GeminiRules, geminiFaults } from './gemini.ts';

const call = (id: string, port: string) => ({
  functionCall: { name: 'get_tide', args: { port }, id },
});
const answer = (id: string) => ({
  functionResponse: { name: 'get_tide', response: { output: 'six', isError: false }, id },
});

const good = () => ({
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  generationConfig: {
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT' },
    thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
  },
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  tools: [
    {
      functionDeclarations: [{ name: 'get_tide', parametersJsonSchema: {} }, { name: 'get_wind' }],
    },
  ],
  contents: [
    {
      role: 'user',
      parts: [{ text: 'Tide?' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
    },
    {
      role: 'model',
      parts: [
        { text: 'Looking.' },
        { ...call('a', 'Brest'), thoughtSignature: 'c2ln' },
        call('b', 'Ostend'),
        { text: '', thoughtSignature: 'ZW5k' },
      ],
    },
    { role: 'user', parts: [answer('a'), answer('b'), { text: 'And?' }] },
    { role: 'model', parts: [{ text: 'At six.' }] },
    { role: 'user', parts: [{ text: 'Thanks.' }] },
  ],
});

const newest: GeminiRules = {
  needsSignatures: true,
  signed: [
    { signature: 'c2ln', on: 'get_tide' },
    { signature: 'ZW5k', on: '' },
  ],
};

const declared = 'tools.0.functionDeclarations';

describe('the rules of Gemini', () => {
  test('catch tools beside an output schema before generation 3', () => {
    expect(geminiFaults(good(), { model: 'gemini-2.5-flash' })).toEqual([
      'generationConfig: function calling with the response type application/json is unsupported',
    ]);
    expect(geminiFaults(good(), { model: 'gemini-3-pro' })).toEqual([]);
  });

  test('catch unsigned calls from generation 3 on', () => {
    const body = good();
    drop('contents.1.parts.1.thoughtSignature')(body);
    expect(geminiFaults(body, { model: 'gemini-3-pro' })).toEqual([
      'contents[1]: the first call has no signature',
    ]);
    expect(geminiFaults(body)).toEqual([]);
  });

  test('accept a valid body', () => {
    expect(geminiFaults(good(), newest)).toEqual([]);
  });

  test('accept the skip token for history of another model', () => {
    const body = good();
    put('contents.1.parts.1.thoughtSignature', 'skip_thought_signature_validator')(body);
    expect(geminiFaults(body, newest)).toEqual([]);
  });

  test('catch ids for Vertex', () => {
    expect(geminiFaults(good(), { isVertex: true })).toEqual([
      'contents[1].parts[1].functionCall.id: refused by Vertex',
      'contents[1].parts[2].functionCall.id: refused by Vertex',
      'contents[2].parts[0].functionResponse.id: refused by Vertex',
      'contents[2].parts[1].functionResponse.id: refused by Vertex',
    ]);
  });

  test('reject a value that is not a body', () => {
    for (const body of [undefined, null, [], {}]) expect(geminiFaults(body)).not.toEqual([]);
  });

  testEachFault<GeminiRules>(geminiFaults, good, [
    ['a tool with a bad name', put(`${declared}.1.name`, '2tide'), '2tide is not a valid name'],
    [
      'allowed functions of the mode AUTO',
      put('toolConfig.functionCallingConfig.allowedFunctionNames', ['get_tide']),
      'without a mode that restricts them',
    ],
    [
      'an allowed function that is no tool',
      put('toolConfig.functionCallingConfig', { mode: 'ANY', allowedFunctionNames: ['x'] }),
      'toolConfig: x is not a tool',
    ],
    ['no contents', put('contents', []), 'contents: none'],
    ['undefined', put('safetySettings', undefined), 'undefined is not JSON'],
    ['a lone surrogate', put('contents.0.parts.0.text', '\udfff'), 'a lone surrogate'],
    ['a mark of our own', put('contents.1.parts.0.providerState', {}), 'a mark of our own'],
    ['an empty system text', put('systemInstruction.parts.0.text', ''), 'systemInstruction'],
    ['no system parts', put('systemInstruction', {}), 'systemInstruction: not texts'],
    [
      'a schema without its type',
      drop('generationConfig.responseMimeType'),
      'without responseMime',
    ],
    [
      'a budget and a level',
      put('generationConfig.thinkingConfig.thinkingBudget', 0),
      'a budget and',
    ],
    ['an unknown mode', put('toolConfig.functionCallingConfig.mode', 'auto'), 'mode auto'],
    [
      'a tool without name',
      drop('tools.0.functionDeclarations.1.name'),
      'the name of function 1: missing',
    ],
    ['two schemas', put('tools.0.functionDeclarations.0.parameters', {}), 'has two schemas'],
    [
      'two tools of a name',
      put('tools.0.functionDeclarations.1.name', 'get_tide'),
      'get_tide twice',
    ],
    ['an unknown role', put('contents.0.role', 'assistant'), 'contents[0].role: assistant'],
    ['a model at the start', drop('contents.0'), 'must begin with a user'],
    ['two of a role', drop('contents.3'), 'contents[3].role: user twice in a row'],
    ['no parts', put('contents.0.parts', []), 'contents[0].parts: empty'],
    ['an empty text', put('contents.0.parts.0.text', ''), 'contents[0].parts[0].text: empty'],
    ['a part with nothing', put('contents.0.parts.0', {}), 'parts[0]: holds nothing'],
    ['a part with two things', put('contents.1.parts.1.text', 'x'), 'holds text and functionCall'],
    [
      'an empty signature',
      put('contents.1.parts.3.thoughtSignature', ''),
      'thoughtSignature: empty',
    ],
    ['a signature of a user', put('contents.0.parts.0.thoughtSignature', 'x'), 'not for users'],
    ['an unsigned call', drop('contents.1.parts.1.thoughtSignature'), 'no signature', newest],
    ['a changed signature', put('contents.1.parts.1.thoughtSignature', 'x'), 'a moved or', newest],
    ['a moved signature', put('contents.1.parts.3.text', 'x'), 'a moved or changed', newest],
    [
      'a call without name',
      drop('contents.1.parts.1.functionCall.name'),
      ['name: missing', 'other names'],
    ],
    ['args as text', put('contents.1.parts.1.functionCall.args', '{}'), 'args: not an object'],
    [
      'streamed args',
      put('contents.1.parts.1.functionCall.willContinue', true),
      'left over from a',
    ],
    [
      'a call of a user',
      insert('contents.0.parts.0', call('z', 'Brest')),
      'functionCall: not for users',
    ],
    [
      'a response of a model',
      insert('contents.3.parts.0', answer('z')),
      ['functionResponse: not for models', 'contents[3]: responses without calls right before'],
    ],
    [
      'a response without name',
      drop('contents.2.parts.0.functionResponse.name'),
      ['to other names', 'name: missing'],
    ],
    [
      'a response as text',
      put('contents.2.parts.0.functionResponse.response', 'six'),
      'not an object',
    ],
    ['a missing response', drop('contents.2.parts.0'), '2 calls but 1 responses right after'],
    ['one response too many', insert('contents.2.parts.0', answer('a')), '2 calls but 3 responses'],
    [
      'a response to another name',
      put('contents.2.parts.0.functionResponse.name', 'x'),
      'other names',
    ],
    ['a response to another id', put('contents.2.parts.0.functionResponse.id', 'x'), 'other ids'],
    [
      'an orphan',
      insert('contents.4.parts.0', answer('z')),
      'contents[4]: responses without calls',
    ],
    [
      'a call at the end',
      insert('contents.5', { role: 'model', parts: [call('z', 'x')] }),
      '1 calls but 0',
    ],
    [
      'late responses',
      all(
        insert(
          'contents.2',
          { role: 'user', parts: [{ text: 'Well?' }] },
          { role: 'model', parts: [{ text: 'Hm.' }] },
        ),
      ),
      ['2 calls but 0 responses', 'contents[4]: responses without calls'],
    ],
    ['media without type', drop('contents.0.parts.1.inlineData.mimeType'), 'mimeType: missing'],
    ['media that is not base64', put('contents.0.parts.1.inlineData.data', 'AA-_'), 'not base64'],
  ]);
});
