import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toolCallId } from '../ids.ts';
import { parseReference } from '../testing/parse-reference.ts';
import { toolCallPart, withInput } from './tool-call.ts';

const id = toolCallId('call_1');
const call = (text: string) =>
  ({ kind: 'tool_call', toolCallId: id, name: 'read', arguments: text }) as const;

test('a call made from any value is the call whose text that value has', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value = parseReference(text);
      const part = toolCallPart(id, 'read', value);
      expect(part).toEqual({
        ...call(JSON.stringify(value)),
        input: parseReference(part.arguments),
      });
      expect(withInput(part)).toEqual(part);
    }),
  );
});

test('a call made from a value that is too deep has no input, as it will have none when read', () => {
  const deep = JSON.parse(`${'['.repeat(129)}${']'.repeat(129)}`);
  expect(toolCallPart(id, 'read', deep)).not.toHaveProperty('input');
});

test('an input is the value of the arguments', () => {
  expect(withInput(call('{"path":"a.ts"}'))).toEqual({
    ...call('{"path":"a.ts"}'),
    input: { path: 'a.ts' },
  });
  expect(withInput(call(' [1] ')).input).toEqual([1]);
  expect(withInput(call('null')).input).toBe(null);
});

test('a call without arguments, as it is sent for tools without parameters, has the input {}', () => {
  expect(withInput(call('')).input).toEqual({});
});

test('a call whose arguments are not JSON, out of range, too deep or cut off has no input', () => {
  const texts = ['{', ' ', 'undefined', '{"a":1}x', '1e999', '['.repeat(129) + ']'.repeat(129)];
  for (const text of texts) {
    expect(withInput({ ...call(text), input: 'forged' })).toStrictEqual(call(text));
  }
  const cut = { ...call('{}'), partial: true } as const;
  expect(withInput({ ...cut, input: {} })).toStrictEqual(cut);
});
