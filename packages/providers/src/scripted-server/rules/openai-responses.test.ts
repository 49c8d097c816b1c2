import { describe, expect, test } from 'vitest';
import { all, drop, insert, put, testEachFault } from '../../testing/fault-tests.ts';
import { responsesFaults } from './openai-responses.ts';

const thought = (more: object = {}) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [] as unknown[],
  encrypted_content: 'c2VjcmV0',
  ...more,
});
const call = (id: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'get_tide',
  arguments: '{"port":"Brest"}',
  status: 'completed',
});
const answer = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'six' });

const object = () => ({
  type: 'object',
  properties: {},
  required: [],
  additionalProperties: false,
});

const good = () => ({
  model: 'gpt-5.1',
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'low', summary: 'auto' },
  text: { format: { type: 'json_schema', name: 'answer', schema: object(), strict: true } },
  tools: [
    {
      type: 'function',
      name: 'get_tide',
      parameters: object(),
      strict: true,
    },
    { type: 'web_search' },
  ],
  input: [
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Tide?' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      ],
    },
    thought({ summary: [{ type: 'summary_text', text: 'Hm.' }] }),
    call('call_1'),
    thought({ id: 'rs_2' }),
    call('call_2'),
    answer('call_2'),
    { ...answer('call_1'), output: [{ type: 'input_text', text: 'six' }] },
    thought({ id: 'rs_3' }),
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'custom_tool_call', call_id: 'call_3', name: 'sql', input: 'SELECT 1' },
    { type: 'custom_tool_call_output', call_id: 'call_3', output: '1' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'At six.' }] },
    { role: 'user', content: 'Thanks.' },
  ],
});

const stored = all(put('store', true), drop('include'));

describe('the rules of Responses', () => {
  test('accept a valid body', () => {
    expect(responsesFaults(good())).toEqual([]);
  });

  test('accept results of calls that the provider stored', () => {
    const body = { ...good(), input: [answer('call_1')] };
    expect(responsesFaults(body)).toEqual(['input[0]: answers call_1, which is not open']);
    expect(responsesFaults({ ...body, previous_response_id: 'resp_1' })).toEqual([]);
  });

  test('accept a text, and no input where the provider stored it', () => {
    const { input: _items, ...rest } = good();
    expect(responsesFaults(rest)).toEqual(['input: none']);
    expect(responsesFaults({ ...rest, input: 'Tide?' })).toEqual([]);
    expect(responsesFaults({ ...rest, previous_response_id: 'resp_1' })).toEqual([]);
  });

  test('accept references if items are stored', () => {
    const body = good();
    all(stored, insert('input.2', { type: 'item_reference', id: 'msg_1' }))(body);
    drop('input.3.encrypted_content')(body);
    expect(responsesFaults(body)).toEqual([]);
  });

  test('reject a value that is not a body', () => {
    for (const body of [undefined, null, [], {}]) expect(responsesFaults(body)).not.toEqual([]);
  });

  test('catch schemas that cannot be enforced', () => {
    const body = good();
    const open = { type: 'object', properties: { port: { type: 'string' } } };
    put('tools.0.parameters', open)(body);
    expect(responsesFaults(body)).toEqual([
      'tools: function 0.additionalProperties: must be false',
      'tools: function 0.required: port is missing',
    ]);
  });

  testEachFault(responsesFaults, good, [
    ['no model', drop('model'), 'model: missing'],
    ['no input', put('input', []), 'input: none'],
    ['undefined', put('user', undefined), 'undefined is not JSON'],
    ['a lone surrogate', put('input.13.content', '\udc00'), 'a lone surrogate'],
    ['a mark of our own', put('input.3.toolCallId', 'x'), 'a mark of our own'],
    ['words of the other API', put('max_tokens', 9), 'max_tokens: of Chat Completions'],
    ['messages beside input', put('messages', []), 'messages: of Chat Completions'],
    ['nothing that brings reasoning back', drop('include'), 'include: no reasoning'],
    ['a nested tool', put('tools.0.function', {}), 'tools[0].function: tools are flat here'],
    ['a tool without name', drop('tools.0.name'), 'the name of function 0: missing'],
    ['a tool without schema', drop('tools.0.parameters'), 'function 0 has no parameters'],
    ['a tool of no type', drop('tools.1.type'), 'tools[1].type: missing'],
    ['two tools of a name', insert('tools.0', { ...good().tools[0] }), 'tools: get_tide twice'],
    ['a format without name', drop('text.format.name'), 'text.format.name: missing'],
    ['a format without schema', drop('text.format.schema'), 'text.format.schema: missing'],
    ['an unknown role', put('input.0.role', 'tool'), 'input[0].role: tool'],
    ['empty text', put('input.0.content', ''), 'input[0].content: empty'],
    ['no parts', put('input.1.content', []), 'input[1].content: empty'],
    ['an empty part', put('input.1.content.0.text', ''), 'content[0].text: empty'],
    ['output in a user', put('input.1.content.0.type', 'output_text'), 'type: output_text'],
    ['input in an assistant', put('input.12.content.0.type', 'input_text'), 'type: input_text'],
    ['an empty refusal', put('input.12.content', [{ type: 'refusal' }]), 'refusal: empty'],
    ['an item without type', put('input.9.type', ''), 'input[9].type: missing'],
    ['an item still open', put('input.3.status', 'in_progress'), 'input[3].status: in_progress'],
    ['a call that was cut', put('input.5.status', 'incomplete'), 'input[5].status: incomplete'],
    ['a call without name', drop('input.3.name'), 'input[3].name: missing'],
    ['broken arguments', put('input.3.arguments', '{"port"'), 'input[3].arguments: not the JSON'],
    ['arguments as a value', put('input.3.arguments', {}), 'input[3].arguments: not the JSON'],
    ['custom input as a value', put('input.10.input', {}), 'input[10].input: not text'],
    [
      'a call without id',
      put('input.3.call_id', ''),
      [
        'input[3].call_id: missing',
        'answers call_1, which is not open',
        'the call  is not answered',
      ],
    ],
    ['an answer without id', insert('input.13', answer('')), 'input[13].call_id: missing'],
    ['an answer without content', drop('input.6.output'), 'input[6].output: missing'],
    ['an answer of a wrong kind', put('input.7.output.0.type', 'text'), 'output[0].type: text'],
    ['a call without answer', drop('input.6'), 'the call call_2 is not answered before it'],
    ['a call at the very end', insert('input.14', call('call_9')), 'call_9 is never answered'],
    ['a call that is answered twice', insert('input.7', answer('call_2')), 'input[7]: answers'],
    ['an answer to nothing', insert('input.13', answer('x')), 'input[13]: answers x, which is not'],
    [
      'an id used twice',
      insert('input.12', { ...call('call_1'), id: 'fc_9' }, answer('call_1')),
      'input: the call call_1 twice',
    ],
    ['an item twice', put('input.4.id', 'rs_1'), 'input: the item rs_1 twice'],
    ['a foreign id of reasoning', put('input.4.id', 'abc'), 'input[4].id: must begin with rs'],
    ['a foreign id of a call', put('input.5.id', 'abc'), 'input[5].id: must begin with fc'],
    ['a foreign id of a message', put('input.12.id', 'abc'), 'input[12].id: must begin with msg'],
    [
      'a call id that is too long',
      all(put('input.10.call_id', 'c'.repeat(65)), put('input.11.call_id', 'c'.repeat(65))),
      ['input[10].call_id: longer than 64', 'input[11].call_id: longer than 64'],
    ],
    ['a tool with a bad name', put('tools.0.name', 'get tide'), 'get tide is not a valid name'],
    ['a strict format of a list', put('text.format.schema.type', 'array'), 'schema.type: must be'],
    ['no summary', drop('input.4.summary'), 'input[4].summary: not a list of texts'],
    ['an empty summary text', put('input.4.summary', [{ text: '' }]), 'summary: not a list'],
    ['nothing encrypted', drop('input.4.encrypted_content'), 'encrypted_content: missing'],
    [
      'reasoning at the end',
      insert('input.14', thought({ id: 'rs_9' })),
      'reasoning without what it led to',
    ],
    [
      'reasoning before a user',
      insert('input.13', thought({ id: 'rs_9' })),
      'input[13]: reasoning without',
    ],
    [
      'reasoning before an answer',
      insert('input.6', thought({ id: 'rs_9' })),
      'input[6]: reasoning without',
    ],
    [
      'a reference to nothing stored',
      insert('input.2', { type: 'item_reference', id: 'msg_1' }),
      'input[2]: a reference, but nothing is stored',
    ],
    [
      'a reference to a call',
      all(stored, insert('input.2', { type: 'item_reference', id: 'fc_1' })),
      'input[2]: a call must be sent, not referred to',
    ],
  ]);
});

describe('the rules of built-in tools', () => {
  const outcome = { type: 'exit', exit_code: 0 };
  const action = { commands: ['ls'] };
  const local = { type: 'exec', command: ['ls'], env: {} };
  const done = { status: 'completed' };
  const request = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'refund' };
  const good = () => ({
    model: 'gpt-5.1',
    stream: true,
    input: [
      { role: 'user', content: 'Go' },
      { type: 'shell_call', call_id: 'a', action },
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'b', action: local, ...done },
      { type: 'apply_patch_call', call_id: 'c', operation: {}, ...done },
      { type: 'computer_call', id: 'cu_1', call_id: 'd', pending_safety_checks: [], ...done },
      { type: 'tool_search_call', call_id: 'e', execution: 'client', arguments: {} },
      { ...request, server_label: 'shop', arguments: '{}' },
      { type: 'shell_call_output', call_id: 'a', output: [{ stdout: '', stderr: '', outcome }] },
      { type: 'local_shell_call_output', id: 'b', output: '' },
      { type: 'apply_patch_call_output', call_id: 'c', ...done },
      { type: 'computer_call_output', call_id: 'd', output: { type: 'computer_screenshot' } },
      { type: 'tool_search_output', call_id: 'e', execution: 'client', tools: [] },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    ],
  });

  test('accept a valid body', () => {
    expect(responsesFaults(good())).toEqual([]);
  });

  testEachFault(responsesFaults, good, [
    ['a shell without output', drop('input.7'), 'the call a is never answered'],
    ['an approval without answer', drop('input.12'), 'the call mcpr_1 is never answered'],
    ['an output of no call', drop('input.2'), 'answers b, which is not open'],
    ['no commands', drop('input.1.action'), 'input[1].action: missing'],
    ['no id of its own', drop('input.2.id'), 'input[2].id: missing'],
    ['no outcome', drop('input.7.output.0.outcome'), 'output[0].outcome: missing'],
    ['a patch of unknown end', drop('input.9.status'), 'input[9].status: missing'],
    ['no screen', put('input.10.output', 'text'), 'input[10].output: no screenshot'],
    ['no list of tools', drop('input.11.tools'), 'input[11].tools: missing'],
    ['no decision', drop('input.12.approve'), 'input[12].approve: missing'],
  ]);
});
