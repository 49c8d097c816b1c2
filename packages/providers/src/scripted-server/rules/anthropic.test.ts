import { describe, expect, test } from 'vitest';
import { all, drop, insert, put, testEachFault } from '../../testing/fault-tests.ts';
import { anthropicFaults } from './anthropic.ts';
import type { AnthropicRules } from './anthropic-messages.ts';

const use = (id: string) => ({ type: 'tool_use', id, name: 'get_tide', input: { partial: true } });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'six' });
const text = (words: string) => ({ type: 'text', text: words });
const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };

const good = () => ({
  model: 'claude-sonnet-4-5',
  stream: true,
  max_tokens: 4096,
  system: [text('Be brief.')],
  thinking: { type: 'enabled', budget_tokens: 1024 },
  tool_choice: { type: 'auto' },
  tools: [
    { name: 'get_tide', description: '', input_schema: { type: 'object' } },
    { type: 'web_search_20250305', name: 'web_search' },
  ],
  messages: [
    { role: 'user', content: [text('Tide?'), { type: 'image', source: {} }] },
    {
      role: 'assistant',
      content: [
        { ...thinking },
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
        text('Looking. '),
        use('toolu_1'),
        use('toolu_2'),
      ],
    },
    { role: 'user', content: [result('toolu_2'), result('toolu_1'), text('And?')] },
    { role: 'assistant', content: 'At six.' },
  ],
});

const sampled = all(put('temperature', 1), put('top_p', 0.5));
const marked = (list: string) => (index: number) =>
  put(`${list}.${index}.cache_control`, { type: 'ephemeral' });

const signed: AnthropicRules = { signed: [{ signature: 'c2ln', on: 'Hm.' }] };

describe('the rules of Messages', () => {
  test('accept a valid body', () => {
    expect(anthropicFaults(good())).toEqual([]);
  });

  test('reject a value that is not a body', () => {
    for (const body of [undefined, null, [], {}]) expect(anthropicFaults(body)).not.toEqual([]);
  });

  test('catch text after results if that rule is on', () => {
    const rules = { refusesTextAfterResults: true };
    expect(anthropicFaults(good(), rules)).toEqual(['messages[2]: text after results']);
    const body = good();
    drop('messages.2.content.2')(body);
    expect(anthropicFaults(body, rules)).toEqual([]);
  });

  test('accept a system message between a user message and an answer', () => {
    const body = good();
    const system = { role: 'system', content: [text('Be polite.')] };
    const messages = [...body.messages.slice(0, 3), system, ...body.messages.slice(3)];
    const more = { role: 'user', content: 'Thanks.' };
    const late = { ...body, model: 'claude-opus-4-8', messages: [...messages, more] };
    expect(anthropicFaults(late)).toEqual([]);
    expect(anthropicFaults({ ...late, model: 'claude-opus-4-7' })).toEqual([
      'messages[3].role: system',
    ]);
    const [first, ...others] = messages;
    expect(anthropicFaults({ ...late, messages: [first, ...others, system] })).toEqual([
      'messages[5]: a system message is not between a user and an answer',
    ]);
  });

  test('catch an assistant message at the end for models that do not continue it', () => {
    const fault = ['messages[3]: the conversation ends with the assistant'];
    for (const model of ['claude-sonnet-4-6', 'claude-opus-4-8', 'claude-haiku-5']) {
      expect(anthropicFaults({ ...good(), model })).toEqual(fault);
    }
    expect(anthropicFaults({ ...good(), model: 'claude-opus-4-20250514' })).toEqual([]);
  });

  testEachFault<AnthropicRules>(anthropicFaults, good, [
    ['no model', drop('model'), 'model: missing'],
    ['no limit', all(drop('max_tokens'), drop('thinking')), 'max_tokens: missing'],
    ['a broken limit', put('max_tokens', 2000.5), 'max_tokens: missing'],
    ['an empty system text', put('system.0.text', ''), 'system: not texts'],
    ['an empty system', put('system', ''), 'system: empty'],
    ['a budget over the limit', put('max_tokens', 1024), 'not above the thinking budget'],
    ['thinking without a budget', drop('thinking.budget_tokens'), 'budget_tokens: missing'],
    ['sampling with thinking', put('temperature', 1), 'temperature: refused with thinking'],
    ['top_k with thinking', put('top_k', 5), 'top_k: refused with thinking'],
    ['a tool without schema', drop('tools.0.input_schema'), 'tools[0].input_schema: missing'],
    ['a tool without name', drop('tools.1.name'), 'tools[1].name: missing'],
    ['two tools of a name', put('tools.1.name', 'get_tide'), 'tools: get_tide twice'],
    [
      'a choice of no tool',
      all(drop('thinking'), put('tool_choice', { type: 'tool', name: 'x' })),
      'tool_choice.name: x is not a tool',
    ],
    ['a forced tool with thinking', put('tool_choice.type', 'any'), 'refused with thinking'],
    ['a tool with a bad name', put('tools.0.name', 'get tide'), 'tools[0].name: get tide is not'],
    ['two sampling settings', all(drop('thinking'), sampled), 'top_p: beside temperature'],
    [
      'a blank stop sequence',
      put('stop_sequences', ['END', ' ']),
      'stop_sequences: without visible',
    ],
    [
      'five cache points',
      all(
        ...[0, 1].map(marked('tools')),
        marked('system')(0),
        ...[0, 1].map(marked('messages.0.content')),
      ),
      'cache_control: 5 cache points, but at most 4',
    ],
    [
      'a long cache point after a short one',
      all(marked('tools')(0), put('system.0.cache_control', { type: 'ephemeral', ttl: '1h' })),
      'cache_control: a point for 1h after one for 5m',
    ],
    [
      'a turn that continues without thinking',
      all(drop('messages.3'), ...Array(2).fill(drop('messages.1.content.0'))),
      'messages: a turn that continues must start with thinking',
    ],
    ['an unknown choice', put('tool_choice.type', 'required'), 'tool_choice.type: required'],
    [
      'a choice without tools',
      all(drop('tools'), put('tool_choice', { type: 'none' })),
      'no tools',
    ],
    ['undefined', put('top_p', undefined), 'undefined is not JSON'],
    ['a lone surrogate', put('messages.0.content.0.text', 'x\ud800'), 'a lone surrogate'],
    ['a lone surrogate in input', put('messages.1.content.5.input', { a: '\ud800' }), 'surrogate'],
    ['a mark of our own', put('messages.1.content.4.partial', true), 'a mark of our own'],
    ['no messages', put('messages', []), 'messages: none'],
    ['a system role', insert('messages.0', { role: 'system', content: 'x' }), 'role: system'],
    ['an assistant at the start', drop('messages.0'), 'messages[0].role: must begin with a user'],
    ['two of a role', insert('messages.0', { role: 'user', content: 'x' }), 'user twice in a row'],
    ['no blocks', put('messages.0.content', []), 'messages[0].content: empty'],
    ['empty text', put('messages.0.content.0.text', ''), 'content[0].text: empty'],
    ['blank text', put('messages.0.content.0.text', ' \n'), 'content[0].text: empty'],
    ['an empty string', put('messages.0.content', ''), 'content[0].text: empty'],
    ['no type', drop('messages.0.content.0.type'), 'content[0].type: missing'],
    ['trailing whitespace', put('messages.3.content', 'At six. '), 'ends with whitespace'],
    ['unsigned thinking', put('messages.1.content.0.signature', ''), 'signature: missing'],
    ['no thinking in thinking', drop('messages.1.content.0.thinking'), 'thinking: missing'],
    ['changed thinking', put('messages.1.content.0.thinking', 'Hm'), 'changed thinking', signed],
    ['a changed proof', put('messages.1.content.0.signature', 'c2l'), 'changed thinking', signed],
    ['no redacted data', drop('messages.1.content.1.data'), 'content[1].data: missing'],
    ['thinking after a call', insert('messages.1.content.6', thinking), 'thinking after a call'],
    ['thinking of a user', insert('messages.0.content.0', thinking), 'thinking is not for users'],
    [
      'a result of an assistant',
      put('messages.3.content', [result('x')]),
      ['tool_result is not for assistants', 'answers x, which was not called right before'],
    ],
    ['input as text', put('messages.1.content.5.input', '{}'), 'input: not an object'],
    ['no input', drop('messages.1.content.5.input'), 'input: not an object'],
    ['a call without name', drop('messages.1.content.5.name'), 'name: missing'],
    [
      'a wrong id',
      all(put('messages.1.content.5.id', 'a.b'), put('messages.2.content.1.tool_use_id', 'a.b')),
      ['content[5].id: not a valid id', 'content[1].tool_use_id: not a valid id'],
    ],
    [
      'an id used twice',
      all(put('messages.1.content.6.id', 'toolu_1'), drop('messages.2.content.0')),
      'messages: the call toolu_1 twice',
    ],
    ['a call without answer', drop('messages.2.content.0'), 'toolu_2 is not answered right after'],
    ['a call at the end', put('messages.3.content', [use('toolu_9')]), 'toolu_9 is not answered'],
    ['two answers to one', insert('messages.2.content.0', result('toolu_1')), 'toolu_1 twice'],
    ['an answer to nothing', insert('messages.2.content.0', result('x')), 'answers x, which was'],
    [
      'results after text',
      insert('messages.2.content.0', text('So:')),
      'results do not come first',
    ],
    [
      'results in two messages',
      all(
        drop('messages.2.content.1'),
        insert('messages.3', { role: 'user', content: [result('toolu_1')] }),
      ),
      [
        'messages[1]: the call toolu_1 is not answered right after it',
        'messages[3].role: user twice in a row',
        'messages[3]: answers toolu_1, which was not called right before',
      ],
    ],
    ['an empty text in a result', put('messages.2.content.0.content', [text('')]), 'text: empty'],
    ['a result of a wrong kind', put('messages.2.content.0.content', 5), 'neither text nor blocks'],
    ['a hosted result alone', drop('messages.1.content.2'), 'without the call srvtoolu_1'],
  ]);
});
