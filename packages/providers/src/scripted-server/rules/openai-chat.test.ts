import { describe, expect, test } from 'vitest';
import { all, drop, insert, put, testEachFault } from '../../testing/fault-tests.ts';
import { type ChatRules, chatFaults } from './openai-chat.ts';

const call = (id: string, name: string) => ({
  id,
  type: 'function',
  function: { name, arguments: '{"port":"Brest"}' },
});
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

const good = () => ({
  model: 'gpt-4.1',
  stream: true,
  tool_choice: { type: 'function', function: { name: 'get_tide' } },
  tools: [
    { type: 'function', function: { name: 'get_tide', parameters: { type: 'object' } } },
    { type: 'function', function: { name: 'get_wind', parameters: { partial: true } } },
  ],
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: {} } },
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Tide?' }, structuredClone(image)] },
    {
      role: 'assistant',
      content: '',
      reasoning_content: '',
      tool_calls: [call('call00001', 'get_tide'), call('call00002', 'get_wind')],
    },
    { role: 'tool', tool_call_id: 'call00002', name: 'get_wind', content: 'calm' },
    { role: 'tool', tool_call_id: 'call00001', name: 'get_tide', content: '' },
    { role: 'assistant', content: 'At six.', reasoning_content: 'Hm.' },
    { role: 'user', content: 'Thanks.' },
  ],
});

/** Changes the call and its answer, so that they still belong together. */
const rename = (id: string) =>
  all(put('messages.2.tool_calls.0.id', id), put('messages.4.tool_call_id', id));

const everyRule: ChatRules = {
  idPattern: /^[a-zA-Z0-9]{9}$/,
  isReasoningModel: true,
  needsToolName: true,
  needsToolsWithCalls: true,
  needsBridge: true,
  needsReasoningContent: true,
  refusesNull: true,
  refusesStreamOptions: true,
};

const noJson = 'not the JSON text of an object';

describe('the rules of Chat Completions', () => {
  test('accept a valid body under all rules at once', () => {
    expect(chatFaults(good(), everyRule)).toEqual([]);
  });

  test('accept custom tools, whose calls have a plain text', () => {
    const body = good();
    const custom = { name: 'sql', input: 'SELECT 1' };
    insert('tools.0', { type: 'custom', custom: { name: 'sql' } })(body);
    put('tool_choice', { type: 'custom', custom: { name: 'sql' } })(body);
    put('messages.2.tool_calls.0', { id: 'call00001', type: 'custom', custom })(body);
    expect(chatFaults(body)).toEqual([]);
  });

  test('reject a value that is not a body', () => {
    for (const body of [undefined, null, [], 'x', {}]) expect(chatFaults(body)).not.toEqual([]);
  });

  testEachFault<ChatRules>(chatFaults, good, [
    ['no model', put('model', ''), 'model: missing'],
    ['no messages', put('messages', []), 'messages: none'],
    ['undefined', put('seed', undefined), 'undefined is not JSON'],
    ['a hole', put('stop', new Array(1)), '.stop[0]: undefined is not JSON'],
    ['a number that JSON has not', put('seed', Number.NaN), 'not a JSON number'],
    ['a lone surrogate', put('messages.6.content', 'a\ud83d'), 'a lone surrogate'],
    ['a lone surrogate in a key', put('\udc00', 1), 'a lone surrogate in a key'],
    [
      'a mark of our own',
      put('messages.5.partial', true),
      'messages[5].partial: a mark of our own',
    ],
    ['an unknown role', put('messages.0.role', 'model'), 'messages[0].role: model'],
    ['no role', drop('messages.0.role'), 'messages[0].role: missing'],
    ['empty text', put('messages.6.content', ''), 'messages[6].content: empty'],
    ['no parts', put('messages.6.content', []), 'messages[6].content: empty'],
    ['an empty text part', put('messages.1.content.0.text', ''), 'content[0].text: empty'],
    ['no address', put('messages.1.content.1.image_url', {}), 'content[1].image_url: empty'],
    ['an unknown part', put('messages.1.content.1.type', 'input_text'), 'content[1].type'],
    ['an image in a tool result', put('messages.3.content', [image]), 'for users only'],
    ['assistant text as parts', put('messages.5.content', [{}]), 'content: not plain text'],
    ['an empty assistant', put('messages.5.content', null), 'messages[5]: empty'],
    ['an empty list of calls', put('messages.5.tool_calls', []), 'tool_calls: empty'],
    ['calls of a user', put('messages.6.tool_calls', null), "tool_calls: not an assistant's"],
    ['a call without id', rename(''), ['calls[0].id: missing', '[4].tool_call_id: missing']],
    ['an id that is too long', rename('x'.repeat(41)), 'id: longer than 40'],
    ['an id over another limit', rename('x'.repeat(21)), 'longer than 20', { maxIdLength: 20 }],
    ['an id not of the pattern', rename('call-0001'), 'id: not like', everyRule],
    ['a call of no type', drop('messages.2.tool_calls.0.type'), 'type: not function'],
    ['an index left over', put('messages.2.tool_calls.0.index', 0), 'left over from a stream'],
    ['no name', put('messages.2.tool_calls.0.function.name', ''), 'function.name: missing'],
    ['broken arguments', put('messages.2.tool_calls.0.function.arguments', '{"a"'), noJson],
    ['empty arguments', put('messages.2.tool_calls.0.function.arguments', ''), noJson],
    ['arguments of no object', put('messages.2.tool_calls.0.function.arguments', '[]'), noJson],
    ['arguments as a value', put('messages.2.tool_calls.0.function.arguments', {}), noJson],
    ['a call without answer', drop('messages.4'), '[4]: the call call00001 is not answered before'],
    [
      'a call that nothing follows',
      all(drop('messages.6'), drop('messages.5'), drop('messages.4')),
      'messages: the call call00001 is never answered',
    ],
    [
      'a call that is answered twice',
      insert('messages.4', { ...good().messages[3] }),
      'messages[4]: answers call00002, which is not open',
    ],
    [
      'an answer to nothing',
      insert('messages.6', { role: 'tool', tool_call_id: 'x', content: 'y' }),
      'messages[6]: answers x, which is not open',
    ],
    [
      'an answer that comes late',
      all(insert('messages.4', { role: 'user', content: 'Well?' })),
      ['messages[4]: the call call00001 is not', 'messages[5]: answers call00001, which is not'],
    ],
    ['an answer without id', insert('messages.6', { role: 'tool', content: 'y' }), 'id: missing'],
    [
      'an id used twice',
      insert(
        'messages.5',
        { role: 'assistant', content: null, tool_calls: [call('call00001', 'get_tide')] },
        { role: 'tool', tool_call_id: 'call00001', content: 'x' },
      ),
      'the call id call00001 twice',
    ],
    [
      'two limits',
      all(put('max_tokens', 9), put('max_completion_tokens', 9)),
      'max_tokens: beside',
    ],
    ['sampling of a reasoning model', put('temperature', 0), 'temperature: refused', everyRule],
    ['the old limit of one', put('max_tokens', 9), 'max_tokens: refused', everyRule],
    ['a tool of no type', put('tools.0.type', 'x'), 'tools[0].type: not function'],
    ['a tool without name', put('tools.1.function.name', ''), 'tools[1].function.name: missing'],
    ['a tool with a bad name', put('tools.1.function.name', 'a.b'), 'a.b is not a valid name'],
    [
      'JSON without the word',
      put('response_format', { type: 'json_object' }),
      'messages: must contain the word json',
    ],
    ['a tool without schema', drop('tools.1.function.parameters'), 'parameters: not a schema'],
    ['two tools of a name', put('tools.1.function.name', 'get_tide'), 'tools: get_tide twice'],
    ['a choice of no tool', put('tool_choice.function.name', 'x'), 'x is not a tool'],
    ['a choice without tools', all(put('tools', []), put('tool_choice', 'auto')), 'no tools'],
    ['a format without name', drop('response_format.json_schema.name'), 'name: missing'],
    ['a format without schema', drop('response_format.json_schema.schema'), 'schema: missing'],
    ['a result without name', drop('messages.3.name'), 'messages[3].name: missing', everyRule],
    ['calls but no tools', all(drop('tools'), drop('tool_choice')), 'tools: missing', everyRule],
    ['no bridge', drop('messages.5'), 'messages: no bridge', everyRule],
    ['no reasoning', drop('messages.5.reasoning_content'), 'reasoning_content: missing', everyRule],
    ['null where it is refused', put('messages.2.content', null), 'content: null', everyRule],
    ['stream_options, refused', put('stream_options', {}), 'stream_options: refused', everyRule],
  ]);
});
